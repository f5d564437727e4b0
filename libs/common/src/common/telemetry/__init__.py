"""What a process tells about itself: metrics to be scraped, traces to be exported. Ids and numbers, never words."""

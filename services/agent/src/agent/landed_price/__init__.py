"""What a parcel costs at the buyer's door: goods, shipping, duty, tax, handling."""

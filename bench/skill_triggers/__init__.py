"""Whether the catalogue of skills makes a model read the right one: `make eval-skills`."""

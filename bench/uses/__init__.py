"""Whether memory sees that what it gave was used."""

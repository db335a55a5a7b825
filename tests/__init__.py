"""The suite; a package, so that its folders can import what they share from here."""

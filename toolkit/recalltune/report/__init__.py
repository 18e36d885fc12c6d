"""Charts as files, one self-contained page, decisions. In: results. Out: HTML, PNG, JSON."""

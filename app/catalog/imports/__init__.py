"""Reading what people send: tables in many spellings, checked row by row."""

"""Web: the study as people meet it in their browser. Routes and handlers; the rules are in `sfumato.elicitation`."""

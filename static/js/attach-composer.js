// The dashboard's composer takes files along; attach.js does it.
attach(document.getElementById("composer"), async () => pressHeaders());

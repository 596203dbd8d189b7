// What the page is of.

const page = readData("page");
if (page.kind === "report") reportPage(page);
else new Inspector(page);

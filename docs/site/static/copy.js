// SPDX-License-Identifier: Apache-2.0
// A button on each block of code. Of a console block it copies the commands, without "$ " and
// without their output. And names in tables and in the contents may break after "_" and "(".
document.addEventListener("DOMContentLoaded", () => {
  const commands = (text) => {
    const found = [];
    let open = false; // inside a quote that goes over several lines
    for (const line of text.split("\n")) {
      if (!open && !line.startsWith("$ ")) continue;
      found.push(open ? line : line.slice(2));
      if ((line.split("'").length - 1) % 2) open = !open;
    }
    return found.join("\n");
  };
  for (const block of document.querySelectorAll("div.highlight")) {
    const pre = block.querySelector("pre");
    if (!pre || block.closest(".highlight-output")) continue;
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "copy";
    button.addEventListener("click", async () => {
      const text = pre.textContent.replace(/\n$/, "");
      await navigator.clipboard.writeText(/^\$ /m.test(text) ? commands(text) : text);
      button.textContent = "copied";
      setTimeout(() => (button.textContent = "copy"), 1500);
    });
    block.append(button);
  }
  for (const box of document.querySelectorAll(".content td, .toc-tree code")) {
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    for (const text of texts) {
      const pieces = text.data.match(/.{1,9}.*?([_(=./](?=[a-z])|$)/gis);
      const parts = pieces.flatMap((piece) => [document.createElement("wbr"), piece]);
      text.replaceWith(...parts.slice(1));
    }
  }
});

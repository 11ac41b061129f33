// The contrast of every kind of text with what is painted behind it, wherever its colours come from: the worst example of
// each pair of colours. Called as a function in a page; `details` are opened first.
() => {
  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

  // Computed colours may be in any notation; a canvas understands them all.
  const rgba = (color) => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = color;
    pixel.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((c, i) => c * a + below[i] * (1 - a));
  const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ratio = (color, below) => {
    const [a, b] = [luminance(over(rgba(color), below)), luminance(below)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  };

  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.unshift(rgba(getComputedStyle(e).backgroundColor));
    return layers.reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  // A label of a drawing: the renderer says which shapes lie under it.
  const under = (text) => {
    text.scrollIntoView({ block: "center", inline: "center" });
    const box = text.getBoundingClientRect();
    const shapes = document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2)
      .filter((e) => e instanceof SVGGeometryElement && getComputedStyle(e).fill !== "none");
    return shapes.reverse().reduce((below, e) => over(rgba(getComputedStyle(e).fill), below), behind(text.ownerSVGElement));
  };

  const kinds = {
    code: ".highlight code, .highlight code *, :not(pre) > code",
    output: "pre.pt2e-out, pre.pt2e-out *",
    table: "table *",
    figure: "figure.fx figcaption, figure.fx p *, figure.fx li *, figure.fx details *",
    prose: "p, p *, li, li *, h1, h2, h3",
  };
  const found = new Map();
  const note = (kind, element, color, below) => {
    const value = Math.round(ratio(color, below) * 100) / 100;
    const text = element.textContent.trim().slice(0, 40);
    found.set([kind, color, below].join(), { kind, ratio: value, color, below: below.map(Math.round).join(" "), text });
  };
  const hasText = (element) => [...element.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim());

  const article = document.querySelector("article");
  for (const details of article.querySelectorAll("details")) details.open = true;
  for (const [kind, selector] of Object.entries(kinds))
    for (const e of article.querySelectorAll(selector))
      if (hasText(e) && e.checkVisibility() && !e.closest("svg, button, .headerlink"))
        note(kind, e, getComputedStyle(e).color, behind(e));
  for (const text of article.querySelectorAll("figure.fx svg text"))
    note("label", text, getComputedStyle(text).fill, under(text));
  return [...found.values()];
}

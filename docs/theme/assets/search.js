// Chinese words in Material's search. The index holds U+200B between the words that jieba found. Those of a query are found
// here, because Material's own way loses a query's last character and finds nothing if no word begins at its first.
// It looks out for Han characters; so to its worker, and back, they travel as characters of a private-use plane.
{
  const SETUP = 0, QUERY = 2; // Material's message types
  const SHIFT = 0xed000;
  const encode = (data) => JSON.parse(JSON.stringify(data).replace(/[\u3400-\u9fff]/g,
    (han) => String.fromCodePoint(han.codePointAt(0) + SHIFT)));
  const decode = (data) => JSON.parse(JSON.stringify(data).replace(/[\u{f0400}-\u{f6fff}]/gu,
    (shifted) => String.fromCodePoint(shifted.codePointAt(0) - SHIFT)));

  const words = new Set(), beginnings = new Set(); // of the index; a term of a query matches words that begin with it
  const learn = (docs) => {
    for (const { title, text } of docs)
      for (const [word] of `${title} ${text}`.matchAll(/[\u3400-\u9fff]+/g)) {
        words.add(word);
        for (let end = 1; end <= word.length; end++) beginnings.add(word.slice(0, end));
      }
  };
  const terms = (run) => {
    const found = [];
    for (let at = 0; at < run.length;) {
      let end = run.length;
      while (end > at && !beginnings.has(run.slice(at, end))) end--;
      const term = run.slice(at, end);
      if (term) found.push(term);
      // jieba may have taken it for two words elsewhere
      for (let cut = 1; cut < term.length; cut++)
        if (words.has(term.slice(0, cut)) && words.has(term.slice(cut))) found.push(term.slice(0, cut), term.slice(cut));
      at = Math.max(end, at + 1);
    }
    return found.length ? found.join(" ") : run;
  };

  window.Worker = class extends Worker {
    postMessage(message) {
      if (message.type === SETUP) learn(message.data.docs);
      if (message.type === QUERY) message = { ...message, data: message.data.replace(/[\u3400-\u9fff]+/g, terms) };
      super.postMessage(encode(message));
    }
    addEventListener(type, listener, options) {
      const decoded = (event) => listener(new MessageEvent(type, { data: decode(event.data) }));
      super.addEventListener(type, type === "message" ? decoded : listener, options);
    }
  };
}

// What Material's search lacks: Chinese words, and pasted messages.
// A query of several words first asks for sections that have all of them, as an error message does; only if there is none,
// for those that have any.
// The index holds U+200B between the words that jieba found. Those of a query are found
// here, because Material's own way loses a query's last character and finds nothing if no word begins at its first.
// It looks out for Han characters; so to its worker, and back, they travel as characters of a private-use plane.
{
  const SETUP = 0, QUERY = 2, RESULT = 3; // Material's message types
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

  const all = (query) => query.trim().split(/\s+/).map((term) => (/^[+~-]/.test(term) ? term : `+${term}`)).join(" ");

  window.Worker = class extends Worker {
    #fallback = null; // what to ask for when no section has all words

    postMessage(message) {
      if (message.type === SETUP) learn(message.data.docs);
      if (message.type === QUERY) {
        const split = message.data.replace(/[/:;,()'"=[\]{}|]+/g, " ").trim(); // as the index splits text
        const any = split.replace(/[\u3400-\u9fff]+/g, terms);
        const several = /\s/.test(split);
        this.#fallback = several ? any : null;
        message = { ...message, data: several ? all(any) : any };
      }
      super.postMessage(encode(message));
    }
    addEventListener(type, listener, options) {
      const decoded = (event) => {
        const message = decode(event.data);
        if (message.type === RESULT && !message.data.items.length && this.#fallback) {
          super.postMessage(encode({ type: QUERY, data: this.#fallback }));
          this.#fallback = null;
        } else listener(new MessageEvent(type, { data: message }));
      };
      super.addEventListener(type, type === "message" ? decoded : listener, options);
    }
  };
}

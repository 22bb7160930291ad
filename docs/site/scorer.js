// SPDX-License-Identifier: Apache-2.0
// The order of search results: pages whose title has a word of the query, then guides, then the
// reference, then parameters, design pages, and guides to programs of TensorFlow 1.x.
// `var`, because the search of Sphinx looks for it in that way.
var Scorer = {
  score: ([name, title, , , found]) => {
    const query = new URLSearchParams(window.location.search).get("q") || "";
    const words = query.toLowerCase().split(/\s+/).filter((word) => word.length > 1);
    const parts = title.toLowerCase().split(/\W+/);
    const named = parts.some((part) => words.some((word) => part.startsWith(word)));
    const score = found + (named ? 10 : 0);
    if (/^docs\/(migration|queues-and-coordinators)$/.test(name)) return score;
    if (/^docs\/[\w-]+$/.test(name)) return score + 15;
    if (/^docs\/(design|site\/reference\/c-)/.test(name) || /^\w+\.\w+$/.test(title)) {
      return score - 10;
    }
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 5, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

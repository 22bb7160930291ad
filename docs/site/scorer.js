// SPDX-License-Identifier: Apache-2.0
// The order of search results: guides first, then the reference, then parameters and design pages.
// `var`, because the search of Sphinx looks for it in that way.
var Scorer = {
  score: ([name, title, , , score]) => {
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

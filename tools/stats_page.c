/* SPDX-License-Identifier: Apache-2.0 */
#include "stats_page.h"

#include "escape.h"

#include <string.h>

#define PAGE_WIDTH  720 /* of the histogram, in units of its drawing */
#define PAGE_HEIGHT 200

static const char page_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>levada stats</title>\n<style>\n"
    ":root { color-scheme: light dark; --ink: #1d2733; --dim: #5c6b7a; --line: #d8dee5;\n"
    "  --bar: #2f7ed8; --pad: #e08a2e; --paper: #fff; --code: #f3f5f8 }\n"
    "@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf0; --dim: #9aa7b4;\n"
    "  --line: #37424e; --bar: #5aa0ee; --pad: #eba95a; --paper: #151b22; --code: #202932 } }\n"
    "body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 60rem; color: var(--ink);\n"
    "  background: var(--paper); font: 16px/1.5 system-ui, sans-serif }\n"
    "h1 { font-size: 1.5rem; margin: 0 } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }\n"
    "p { margin: .25rem 0 .75rem; color: var(--dim) }\n"
    "pre { margin: .5rem 0; padding: .75rem 1rem; overflow-x: auto; border-radius: 6px;\n"
    "  background: var(--code); white-space: pre-wrap; overflow-wrap: anywhere }\n"
    "dl { display: flex; flex-wrap: wrap; gap: .5rem 2rem; margin: 1rem 0 }\n"
    "dt { font-size: .8rem; color: var(--dim) }\n"
    "dd { margin: 0; font-size: 1.25rem; font-variant-numeric: tabular-nums }\n"
    "svg { display: block; width: 100% }\n"
    "#lengths { height: 200px; border-bottom: 1px solid var(--line) }\n"
    "#lengths rect { fill: var(--bar) } .pad { fill: var(--pad) } .track { fill: var(--line) }\n"
    ".axis { display: flex; justify-content: space-between; font-size: .8rem;\n"
    "  color: var(--dim); font-variant-numeric: tabular-nums }\n"
    ".wide { overflow-x: auto }\n"
    "table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums }\n"
    "th, td { padding: .35rem .5rem; text-align: right; white-space: nowrap;\n"
    "  border-bottom: 1px solid var(--line) }\n"
    "th { font-weight: 500; font-size: .8rem; color: var(--dim) }\n"
    "th:first-child, td:first-child { text-align: left; padding-left: 0 }\n"
    "td.bar { width: 40%; min-width: 5rem } td.bar svg { height: 12px }\n"
    "tr.best td { font-weight: 600 }\n"
    "@media (max-width: 40rem) { .more { display: none } }\n"
    "</style>\n</head>\n<body>\n<h1>Sequence lengths and padding</h1>\n";

/* Text between tags or in quotes. */
static void page_text(levada_cli_buffer *page, const char *text)
{
    levada_cli_buffer shown = { 0 };

    levada_cli_show_text(&shown, text);
    for (size_t i = 0; i < shown.size; i++) {
        switch (shown.at[i]) {
        case '<': levada_cli_puts(page, "&lt;"); break;
        case '>': levada_cli_puts(page, "&gt;"); break;
        case '&': levada_cli_puts(page, "&amp;"); break;
        case '"': levada_cli_puts(page, "&quot;"); break;
        default: levada_cli_add(page, &shown.at[i], 1);
        }
    }
    levada_cli_buffer_clear(&shown);
}

static void page_fact(levada_cli_buffer *page, const char *name, int64_t number)
{
    levada_cli_printf(page, "<div><dt>%s</dt><dd>", name);
    levada_cli_count(page, number);
    levada_cli_puts(page, "</dd></div>\n");
}

static void page_facts(levada_cli_buffer *page, const levada_value *report)
{
    const levada_value *quantiles = levada_cli_json_get(report, "quantiles");

    levada_cli_puts(page, "<dl>\n");
    page_fact(page, "records", levada_cli_json_int(report, "records"));
    page_fact(page, "tokens", levada_cli_json_int(report, "tokens"));
    for (int64_t i = 0; i < levada_value_count(quantiles); i++) {
        page_fact(page, levada_value_key(quantiles, i),
                  levada_value_as_int(levada_value_item(quantiles, i)));
    }
    levada_cli_puts(page, "</dl>\n");
}

static int64_t page_bin(const levada_value *bins, int64_t i, int64_t what)
{
    return levada_value_as_int(levada_value_item(levada_value_item(bins, i), what));
}

static void page_bars(levada_cli_buffer *page, const levada_value *bins)
{
    int64_t n = levada_value_count(bins), most = 1;
    double  width = n ? (double)PAGE_WIDTH / (double)n : 0;

    for (int64_t i = 0; i < n; i++)
        most = page_bin(bins, i, 2) > most ? page_bin(bins, i, 2) : most;
    for (int64_t i = 0; i < n; i++) {
        int64_t records = page_bin(bins, i, 2);
        double  height = (double)records / (double)most * (PAGE_HEIGHT - 4);

        levada_cli_printf(page,
                          "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>",
                          (double)i * width, PAGE_HEIGHT - height, width * 0.9, height);
        levada_cli_count(page, page_bin(bins, i, 0));
        levada_cli_puts(page, " to ");
        levada_cli_count(page, page_bin(bins, i, 1) - 1);
        levada_cli_puts(page, ": ");
        levada_cli_counted(page, records, "record", "records");
        levada_cli_puts(page, "</title></rect>\n");
    }
}

static void page_histogram(levada_cli_buffer *page, const levada_value *report)
{
    const levada_value *bins = levada_cli_json_get(report, "histogram");
    int64_t             n = levada_value_count(bins);

    if (n == 0) return;
    levada_cli_puts(page, "<h2>Lengths of ");
    page_text(page, levada_cli_json_string(report, "field"));
    levada_cli_puts(page, "</h2>\n<p>Records by length. The last bar has all longer ones.</p>\n");
    levada_cli_printf(page,
                      "<svg id=\"lengths\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" "
                      "role=\"img\" aria-label=\"histogram of lengths\">\n",
                      PAGE_WIDTH, PAGE_HEIGHT);
    page_bars(page, bins);
    levada_cli_puts(page, "</svg>\n<div class=\"axis\"><span>");
    levada_cli_count(page, page_bin(bins, 0, 0));
    levada_cli_puts(page, "</span><span>");
    levada_cli_count(page, page_bin(bins, n / 2, 0));
    levada_cli_puts(page, "</span><span>");
    levada_cli_count(page, page_bin(bins, n - 1, 0));
    levada_cli_puts(page, " and more</span></div>\n");
}

static void page_cell(levada_cli_buffer *page, const char *kind, int64_t number)
{
    levada_cli_printf(page, "<td%s>", kind);
    levada_cli_count(page, number);
    levada_cli_puts(page, "</td>");
}

static void page_row(levada_cli_buffer *page, const levada_value *row, const char *best)
{
    const char *name = levada_cli_json_string(row, "strategy");
    double      padding = levada_cli_json_float(row, "padding");

    levada_cli_printf(page, "<tr%s title=\"", strcmp(name, best) == 0 ? " class=\"best\"" : "");
    page_text(page, levada_cli_json_string(row, "stage"));
    levada_cli_puts(page, "\"><td>");
    page_text(page, name);
    levada_cli_printf(
        page,
        "</td><td>%.2f %%</td><td class=\"bar\"><svg viewBox=\"0 0 100 10\" "
        "preserveAspectRatio=\"none\"><rect class=\"track\" width=\"100\" "
        "height=\"10\"/><rect class=\"pad\" width=\"%.2f\" height=\"10\"/></svg></td>",
        padding * 100, padding * 100);
    page_cell(page, " class=\"more\"",
              (int64_t)(levada_cli_json_float(row, "tokens_per_batch") + 0.5));
    page_cell(page, " class=\"more\"", levada_cli_json_int(row, "batches"));
    page_cell(page, " class=\"more\"", levada_cli_json_int(row, "shapes"));
    levada_cli_puts(page, "</tr>\n");
}

static void page_strategies(levada_cli_buffer *page, const levada_value *report, const char *best)
{
    const levada_value *rows = levada_cli_json_get(report, "strategies");

    levada_cli_puts(page,
                    "<h2>Padding of each strategy</h2>\n<p>Share of the elements of all batches. "
                    "Shapes are different padded lengths.</p>\n<div class=\"wide\"><table>\n"
                    "<thead><tr><th>strategy</th><th>padding</th><th></th><th "
                    "class=\"more\">tokens per batch</th>"
                    "<th class=\"more\">batches</th><th class=\"more\">shapes</th></tr></thead>\n"
                    "<tbody>\n");
    for (int64_t i = 0; i < levada_value_count(rows); i++) {
        page_row(page, levada_value_item(rows, i), best);
    }
    levada_cli_puts(page, "</tbody></table></div>\n");
}

void levada_cli_stats_page(levada_cli_buffer *page, const levada_value *report,
                           const char *description)
{
    const levada_value *best = levada_cli_json_get(report, "recommended");

    levada_cli_puts(page, page_head);
    levada_cli_puts(page, "<pre>");
    page_text(page, description);
    levada_cli_puts(page, "</pre>\n");
    page_facts(page, report);
    page_histogram(page, report);
    page_strategies(page, report, levada_cli_json_string(best, "strategy"));
    levada_cli_puts(page, "<h2>Recommended</h2>\n<pre>| ");
    page_text(page, levada_cli_json_string(best, "stage"));
    levada_cli_puts(page, "</pre>\n<pre>ds = ds.");
    page_text(page, levada_cli_json_string(best, "call"));
    levada_cli_puts(page, "</pre>\n</body>\n</html>\n");
}

#include <array>

#include "core/finding_table.h"

namespace comm_probe::core {
namespace {

constexpr std::array kCaveats = {
    CaveatEntry{
        "input.unreadable", "a file could not be read; the other inputs were still analysed",
        "give the file again, complete and readable; the error line names the file and the offset"},
    CaveatEntry{
        "input.truncated", "a file ends in the middle of a record or of its compressed data",
        "copy the file again after the writer has finished; what stands before the cut was read"},
    CaveatEntry{
        "input.other-version",
        "a document was written by another version of comm-probe than the one that shows it",
        "make the page with the version that wrote it, or run the command again"},
    CaveatEntry{
        "input.line-endings",
        "a text has carriage returns (CRLF): it went through an editor, a terminal or a chat",
        "attach the original file; the rows were read, but lines may have been lost on the way"},
    CaveatEntry{"input.lines-elided", "lines were left out of the text by whoever pasted it",
                "attach the complete output"},
    CaveatEntry{"input.rank-contradiction",
                "a table lists the devices of more ranks than its figures belong to",
                "attach the output as the program wrote it; the list and the rows may come from "
                "two runs"},
    CaveatEntry{"input.row-contradiction",
                "rows of a table contradict themselves: size / time is not the printed bandwidth",
                "attach the output as the program wrote it; such rows were edited, mixed from two "
                "runs, or printed by a patched program"},
    CaveatEntry{"input.unit-unknown", "a table does not say the unit of its figures",
                "put the unit into the corner or a line above the table (GB/s, Gb/s)"},
    CaveatEntry{"input.passed-over",
                "files hold nothing that the command reads (README, scripts, pictures)",
                "nothing to do, unless one of them should hold one"},
    CaveatEntry{"input.row-refused",
                "rows of a table hold a figure that no column can have: negative, or beyond 1e15",
                "look at the line; run the size again where the program itself printed it (a clock "
                "that jumped, an overflow)"},
    CaveatEntry{"input.row-without-time",
                "rows of a table show nan, inf, 0 or nothing where other rows have a time",
                "the size was not measured, or the clock failed; run it again"},
};

}  // namespace

std::span<const CaveatEntry> input_caveats() { return kCaveats; }

}  // namespace comm_probe::core

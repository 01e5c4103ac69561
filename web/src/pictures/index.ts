// Which pictures a document has: one row per kind. A picture looks at the document and answers null
// where it has nothing to show.
import { Child } from "../dom";
import { Fields } from "../json";
import { channels } from "./channels";
import { checks } from "./checks";
import { curves } from "./curves";
import { decisions } from "./decisions";
import { differences } from "./differences";
import { forced } from "./forced";
import { gap } from "./gap";
import { groupMatrix } from "./groups";
import { heatMap } from "./heat";
import { ledgers } from "./ledger";
import { links } from "./links";
import { schemes } from "./moe";
import { shares } from "./shares";
import { sides } from "./sides";
import { timeline } from "./timeline";
import { topology } from "./topology";
import { waitGraph } from "./waits";
import { whatIf } from "./whatif";

type Picture = (document: Fields) => Child;
const ALL: Picture[] = [gap, decisions, checks, sides, waitGraph, groupMatrix, topology, differences, channels, timeline, shares, links,
                        whatIf, curves, forced, schemes, heatMap, ledgers];

export const pictures = (document: Fields): Child => ALL.map(picture => picture(document));

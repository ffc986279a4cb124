// Whether the server is heard, in words.
import { link } from "./watch";

export const kRefused = "refused: open the address that genscope printed again";
const kLinks = { connecting: "connecting…", live: "● live", lost: "▲ lost: retrying", refused: `✖ ${kRefused}` };

export const LinkText = () => <span class={`link ${link.value}`} role="status">{kLinks[link.value]}</span>;

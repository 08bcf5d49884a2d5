/** Blocks of code in Markdown pages. Pure. */

export interface Block {
  /** The word after the fence, such as `sh` or `yaml`. */
  readonly language: string;
  readonly text: string;
  /** Line number of its first line, from 1. */
  readonly line: number;
}

const FENCE = '```';

/** Returns the fenced blocks of a page in their order. A fence within a list is indented, and its block with it.
 *  @throws SyntaxError for a block without an end */
export function blocksOf(markdown: string): readonly Block[] {
  const blocks: Block[] = [];
  let open: { readonly indent: string; readonly language: string; readonly line: number } | undefined;
  let lines: string[] = [];
  markdown.split('\n').forEach((each, index) => {
    const text = each.trimStart();
    const indent = each.slice(0, each.length - text.length);
    if (open === undefined) {
      if (!text.startsWith(FENCE)) return;
      open = { indent, language: text.slice(FENCE.length).trim(), line: index + 2 };
      lines = [];
    } else if (text.trimEnd() === FENCE) {
      blocks.push({ language: open.language, text: lines.join('\n'), line: open.line });
      open = undefined;
    } else {
      lines.push(each.startsWith(open.indent) ? each.slice(open.indent.length) : each);
    }
  });
  if (open !== undefined) throw new SyntaxError(`the block that begins in line ${open.line} has no end`);
  return blocks;
}

/** Returns the blocks with commands. */
export const commandBlocks = (markdown: string): readonly Block[] =>
  blocksOf(markdown).filter(({ language }) => language === 'sh');

/** Writer of ar archives, the outer format of Debian packages. Deterministic: owner root, one time for all.
 *  @see https://manpages.debian.org/deb.5 */

export interface ArMember {
  readonly name: string;
  readonly content: Uint8Array;
}

const MAGIC = '!<arch>\n';
const NAME_BYTES = 16;

/** @throws RangeError for a name of more than 15 characters */
export function createAr(members: readonly ArMember[], mtimeSeconds: number): Buffer {
  return Buffer.concat([
    Buffer.from(MAGIC),
    ...members.flatMap(({ name, content }) => [
      Buffer.from(header(name, content.length, mtimeSeconds)),
      content,
      Buffer.from(content.length % 2 === 0 ? '' : '\n'),
    ]),
  ]);
}

function header(name: string, size: number, mtimeSeconds: number): string {
  if (name.length >= NAME_BYTES) throw new RangeError(`ar member: name ${name} is too long`);
  const fields = [
    name.padEnd(NAME_BYTES),
    String(mtimeSeconds).padEnd(12),
    '0'.padEnd(6),
    '0'.padEnd(6),
    '100644'.padEnd(8),
    String(size).padEnd(10),
  ];
  return `${fields.join('')}\`\n`;
}

/** PEM blocks. Pure. Source: RFC 7468. */

/** Formats bytes between the lines of a label: `CERTIFICATE`, `PRIVATE KEY`… */
export function formatPem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

export interface PemBlock {
  readonly label: string;
  readonly der: Buffer;
  /** The unchanged text of the block. */
  readonly text: string;
}

/** Returns every block of a text in order; text in between is skipped. */
export function parsePem(text: string): readonly PemBlock[] {
  const pattern = /-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \1-----/g;
  return [...text.matchAll(pattern)].map(([block, label = '', body = '']) => ({
    label,
    der: Buffer.from(body, 'base64'),
    text: `${block}\n`,
  }));
}

/** Returns the request with another header line. */
export function withHeader(header: string, request: Buffer): Buffer {
  const text = request.toString('latin1');
  const end = text.indexOf('\r\n') + 2;
  return Buffer.from(`${text.slice(0, end)}${header}\r\n${text.slice(end)}`, 'latin1');
}

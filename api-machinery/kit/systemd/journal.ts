/** Entries of the systemd journal in its native protocol, which carries priorities and fields.
 *  @see https://systemd.io/JOURNAL_NATIVE_PROTOCOL/ */
import { fstatSync } from 'node:fs';
import type { DatagramSender } from './datagram.ts';

const SOCKET = '/run/systemd/journal/socket';
const STANDARD_ERROR = 2;
/** The journal ignores fields with longer names. */
const NAME_CHARACTERS = 64;
const VALUE_CHARACTERS = 4096;

/** Fields with a meaning of their own: the logger sets them. */
const RESERVED = /^(?:MESSAGE|PRIORITY|SYSLOG_|CODE_|COREDUMP|OBJECT_)/;

/** Sends one entry. @throws when the journal does not accept it, for example because it is too large */
export type SendEntry = (fields: ReadonlyMap<string, string>) => void;

/** Reports whether standard error is connected to the journal, according to the variable that systemd sets:
 *  `<device>:<inode>`. */
export function isJournalStream(variable: string | undefined, file: { dev: number; ino: number }): boolean {
  return variable === `${file.dev}:${file.ino}`;
}

/** Returns a sender, or undefined if standard error is not connected to the journal or the journal has no
 *  socket. */
export async function openJournal(
  environment: Readonly<Record<string, string | undefined>>,
  openSender: (address: string) => Promise<DatagramSender>,
): Promise<SendEntry | undefined> {
  if (!isJournalStream(environment['JOURNAL_STREAM'], fstatSync(STANDARD_ERROR))) return undefined;
  const sender = await openSender(SOCKET).catch(() => undefined);
  return sender && ((fields) => sender.send(encodeEntry(fields)));
}

/** Returns the journal's name for a field of a log line: `podUID` → `POD_UID`; undefined if it has none. */
export function fieldName(key: string): string | undefined {
  const name = key
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toUpperCase()
    .replaceAll(/[^A-Z0-9_]/g, '_')
    .slice(0, NAME_CHARACTERS);
  if (!/^[A-Z]/.test(name)) return undefined;
  return RESERVED.test(name) ? `FIELD_${name}`.slice(0, NAME_CHARACTERS) : name;
}

/** Limits a value: an entry must fit into a datagram. */
export const fieldValue = (text: string): string => text.slice(0, VALUE_CHARACTERS);

/** Encodes an entry; a value with a line end has its length in front. */
export function encodeEntry(fields: ReadonlyMap<string, string>): Buffer {
  return Buffer.concat(Array.from(fields, ([name, value]) => encodeField(name, Buffer.from(value))));
}

function encodeField(name: string, value: Buffer): Buffer {
  const end = Buffer.from('\n');
  if (!value.includes(end)) return Buffer.concat([Buffer.from(`${name}=`), value, end]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(value.length));
  return Buffer.concat([Buffer.from(`${name}\n`), length, value, end]);
}

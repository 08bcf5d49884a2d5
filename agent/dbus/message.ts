/** D-Bus messages, as far as calling the system's services and hearing from them needs them.
 *  @see https://dbus.freedesktop.org/doc/dbus-specification.html */

/** Texts, numbers and truth values: all that is read. */
export type DBusPlain = string | number | bigint | boolean;

/** A value that says of which type it is. */
export interface DBusVariant {
  readonly type: string;
  readonly value: DBusValue;
}

/** Arrays are arrays and structures. */
export type DBusValue = DBusPlain | DBusVariant | readonly DBusValue[];

export interface DBusCall {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  /** Types of the body's values: `ssa(sv)`. */
  readonly signature?: string;
  readonly body?: readonly DBusValue[];
}

export type DBusMessageType = 'call' | 'return' | 'error' | 'signal';

export interface DBusMessage {
  readonly type: DBusMessageType;
  readonly serial: number;
  readonly replySerial: number;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly sender: string;
  readonly errorName: string;
  /** Empty where it is of a type that nobody asks for. */
  readonly body: readonly DBusPlain[];
}

/** Bytes that are no message, or one that is longer than any that is expected. */
export class DBusFormatError extends Error {
  override readonly name = 'DBusFormatError';
}

/** Fields of a message's header. */
export const FIELD = {
  path: 1,
  interface: 2,
  member: 3,
  errorName: 4,
  replySerial: 5,
  destination: 6,
  sender: 7,
  signature: 8,
} as const;

/** The next multiple. */
export const aligned = (offset: number, to: number): number => Math.ceil(offset / to) * to;

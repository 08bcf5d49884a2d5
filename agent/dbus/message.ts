/** D-Bus messages, limited to method calls and signals of system services.
 *  @see https://dbus.freedesktop.org/doc/dbus-specification.html */

/** Strings, numbers and booleans: all that is decoded. */
export type DBusPlain = string | number | bigint | boolean;

/** A variant: a value with its type. */
export interface DBusVariant {
  readonly type: string;
  readonly value: DBusValue;
}

/** Arrays stand for arrays and structs. */
export type DBusValue = DBusPlain | DBusVariant | readonly DBusValue[];

export interface DBusCall {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  /** Signature of the body: `ssa(sv)`. */
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
  /** Decoded body; empty when it contains unsupported types. */
  readonly body: readonly DBusPlain[];
}

/** Invalid bytes, or a message beyond the size limit. */
export class DBusFormatError extends Error {
  override readonly name = 'DBusFormatError';
}

/** Header fields of a message. */
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

/** Rounds up to the next multiple. */
export const aligned = (offset: number, to: number): number => Math.ceil(offset / to) * to;

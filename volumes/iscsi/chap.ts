/** Names and passwords by which an iSCSI initiator and its target know each other. */
import type { Buffer } from 'node:buffer';
import { VolumeSetupError } from '../setup-error.ts';
import type { Settings } from './records.ts';

export interface Chap {
  /** Settings of discovery; empty without CHAP. */
  readonly discovery: Settings;
  /** Settings of sessions; empty without CHAP. */
  readonly session: Settings;
}

/** What the program's records can hold: a line each, without space at its ends. */
const LONGEST_VALUE = 255;

function checked(key: string, bytes: Buffer): string {
  const value = bytes.toString('utf8');
  // Never in the message: it is a secret.
  if (/[\p{Cc}\uFFFD]/u.test(value) || value.trim() !== value || value.length > LONGEST_VALUE) {
    throw new VolumeSetupError(
      `the secret's ${key} must be at most ${LONGEST_VALUE} characters of one line, without space at its ends`,
    );
  }
  return value;
}

function settings(secret: ReadonlyMap<string, Buffer>, stem: string): Settings {
  const found = new Map<string, string>([[`${stem}.authmethod`, 'CHAP']]);
  for (const name of ['username', 'password', 'username_in', 'password_in']) {
    const key = `${stem}.${name}`;
    const bytes = secret.get(key);
    const value = bytes === undefined ? '' : checked(key, bytes);
    if (value !== '') found.set(key, value);
    else if (!name.endsWith('_in')) throw new VolumeSetupError(`the secret for CHAP has no ${key}`);
  }
  return found;
}

/** Settings from a secret with keys such as `node.session.auth.username`. Pure.
 *  @throws VolumeSetupError naming the key that is missing or can't be used */
export function chapOf(
  secret: ReadonlyMap<string, Buffer>,
  use: { readonly discovery: boolean; readonly session: boolean },
): Chap {
  const none: Settings = new Map();
  return {
    discovery: use.discovery ? settings(secret, 'discovery.sendtargets.auth') : none,
    session: use.session ? settings(secret, 'node.session.auth') : none,
  };
}

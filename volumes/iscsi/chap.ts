/** CHAP user names and passwords of iSCSI initiators and targets. */
import type { Buffer } from 'node:buffer';
import { VolumeSetupError } from '../errors/setup-error.ts';
import type { Settings } from './records.ts';

export interface Chap {
  /** Settings of discovery; empty without CHAP. */
  readonly discovery: Settings;
  /** Settings of sessions; empty without CHAP. */
  readonly session: Settings;
}

/** Values that the records of iscsiadm can contain: one line each, without leading or trailing space. */
const MAX_VALUE_LENGTH = 255;

function checked(key: string, bytes: Buffer): string {
  const value = bytes.toString('utf8');
  // Not in the message: it is a secret.
  if (/[\p{Cc}\uFFFD]/u.test(value) || value.trim() !== value || value.length > MAX_VALUE_LENGTH) {
    throw new VolumeSetupError(
      `the secret's ${key} must be at most ${MAX_VALUE_LENGTH} characters on one line, without leading or trailing space`,
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
    else if (!name.endsWith('_in')) throw new VolumeSetupError(`the CHAP secret has no ${key}`);
  }
  return found;
}

/** Returns the settings from a secret with keys such as `node.session.auth.username`. Pure.
 *  @throws VolumeSetupError naming the missing or invalid key */
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

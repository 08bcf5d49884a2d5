/** Calls and responses of flex drivers. Pure.
 *  Source: upstream's flexvolume plugin (`driver-call.go`), release 1.24. */
import type { FlexCall, FlexCapabilities, FlexResponse } from '../contract/flex.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';

/** Capabilities of a driver that does not report them. */
const DEFAULTS: FlexCapabilities = {
  attach: true,
  selinuxRelabel: true,
  fsGroup: true,
  supportsMetrics: false,
  requiresFSResize: true,
};

/** The driver does not implement the call: the agent does that part itself. */
export class FlexNotSupportedError extends VolumeSetupError {
  constructor(driver: string, call: FlexCall) {
    super(`flex driver ${driver} does not support ${call}`);
    this.name = 'FlexNotSupportedError';
  }
}

/** The driver reports failure. */
export class FlexFailureError extends VolumeSetupError {
  constructor(message: string) {
    super(message);
    this.name = 'FlexFailureError';
  }
}

/** Members by lower-case name: drivers use different spellings. */
function membersOf(value: unknown): ReadonlyMap<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return new Map();
  return new Map(Object.entries(value).map(([name, member]) => [name.toLowerCase(), member]));
}

function parseCapabilities(value: unknown): FlexCapabilities {
  const members = membersOf(value);
  const flag = (name: keyof FlexCapabilities): boolean => {
    const member = members.get(name.toLowerCase());
    return typeof member === 'boolean' ? member : DEFAULTS[name];
  };
  return {
    attach: flag('attach'),
    selinuxRelabel: flag('selinuxRelabel'),
    fsGroup: flag('fsGroup'),
    supportsMetrics: flag('supportsMetrics'),
    requiresFSResize: flag('requiresFSResize'),
  };
}

const MAX_MESSAGE_LENGTH = 300;
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** Returns a driver's message, shortened to one line and without secrets. */
export function tidyMessage(text: string, secrets: readonly string[]): string {
  const hidden = secrets
    .filter((secret) => secret !== '')
    .reduce((printed, secret) => printed.replaceAll(secret, '…'), text);
  const line = hidden.replaceAll(UNPRINTABLE, ' ').trim();
  return line.length > MAX_MESSAGE_LENGTH ? `${line.slice(0, MAX_MESSAGE_LENGTH)}…` : line;
}

function parseMembers(stdout: string): ReadonlyMap<string, unknown> {
  try {
    return membersOf(JSON.parse(stdout));
  } catch {
    return new Map();
  }
}

export interface FlexOutput {
  readonly driver: string;
  readonly call: FlexCall;
  readonly code: number;
  readonly stdout: string;
  /** Values that must not appear in messages. */
  readonly secrets: readonly string[];
}

/** Parses the response on a driver's standard output.
 *  @throws FlexNotSupportedError, FlexFailureError; VolumeSetupError for an invalid response */
export function parseResponse({ driver, call, code, stdout, secrets }: FlexOutput): FlexResponse {
  const members = parseMembers(stdout);
  const text = (name: string): string => {
    const member = members.get(name);
    return typeof member === 'string' ? member : '';
  };
  const status = text('status');
  const message = tidyMessage(text('message'), secrets);
  if (status === 'Not supported') throw new FlexNotSupportedError(driver, call);
  const what = `flex driver ${driver}, ${call}`;
  if (status === '') {
    const printed = tidyMessage(stdout, secrets);
    const end = printed === '' ? 'said nothing' : `an unreadable response: ${printed}`;
    throw new VolumeSetupError(`${what}: exited with code ${code} and ${end}`);
  }
  if (status !== 'Success')
    throw new FlexFailureError(`${what}: ${message || `status ${tidyMessage(status, secrets)}`}`);
  if (code !== 0) throw new VolumeSetupError(`${what}: reported success, but exited with code ${code}`);
  const size = members.get('volumenewsize');
  return {
    message,
    device: text('device'),
    volumeName: text('volumename'),
    attached: members.get('attached') === true,
    volumeNewSize: typeof size === 'number' ? size : 0,
    capabilities: parseCapabilities(members.get('capabilities')),
  };
}

/** Returns a driver's directory `<vendor>~<driver>` and the name of its program.
 *  @param name `<vendor>/<driver>`, or `<driver>`
 *  @throws VolumeSetupError for an invalid name */
export function driverPlace(name: string): { readonly folder: string; readonly program: string } {
  const parts = name.split('/');
  const program = parts.at(-1) ?? '';
  if (parts.length > 2 || !parts.every(isDriverWord))
    throw new VolumeSetupError(
      `flexVolume.driver ${JSON.stringify(name.slice(0, 100))} must be like vendor/driver, of letters, digits, "-", "." and "_"`,
    );
  return { folder: parts.join('~'), program };
}

/** Files of editors and packagers, which begin with a dot or an underscore, are not drivers. */
const isDriverWord = (word: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(word);

/** Returns the driver to which a directory belongs; undefined if the name is invalid. */
export function driverOfFolder(folder: string): string | undefined {
  const parts = folder.split('~');
  return parts.length <= 2 && parts.every(isDriverWord) ? parts.join('/') : undefined;
}

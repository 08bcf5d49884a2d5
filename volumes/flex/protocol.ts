/** What flex drivers are asked and what they answer. Pure.
 *  Source: upstream's flexvolume plugin (`driver-call.go`), release 1.24. */
import { VolumeSetupError } from '../setup-error.ts';

/** The first argument of a driver. */
export type FlexCall =
  | 'init'
  | 'getvolumename'
  | 'attach'
  | 'detach'
  | 'waitforattach'
  | 'isattached'
  | 'mountdevice'
  | 'unmountdevice'
  | 'mount'
  | 'unmount'
  | 'expandvolume'
  | 'expandfs';

export interface FlexCapabilities {
  /** The volume is attached and mounted for the node before pods get it. */
  readonly attach: boolean;
  readonly selinuxRelabel: boolean;
  /** The agent gives the volume's files to the pod's group. */
  readonly fsGroup: boolean;
  readonly supportsMetrics: boolean;
  readonly requiresFSResize: boolean;
}

/** Of a driver that doesn't say. */
const DEFAULTS: FlexCapabilities = {
  attach: true,
  selinuxRelabel: true,
  fsGroup: true,
  supportsMetrics: false,
  requiresFSResize: true,
};

/** What a driver says of a call that it did. */
export interface FlexAnswer {
  readonly message: string;
  readonly device: string;
  readonly volumeName: string;
  readonly attached: boolean;
  /** Bytes; 0 where it doesn't say. */
  readonly volumeNewSize: number;
  readonly capabilities: FlexCapabilities;
}

/** The driver has no such call: the agent does that part itself. */
export class FlexNotSupportedError extends VolumeSetupError {
  constructor(driver: string, call: FlexCall) {
    super(`flex driver ${driver} does not support ${call}`);
    this.name = 'FlexNotSupportedError';
  }
}

/** The driver says that it could not do it. */
export class FlexFailureError extends VolumeSetupError {
  constructor(message: string) {
    super(message);
    this.name = 'FlexFailureError';
  }
}

/** Members by their names in small letters: drivers spell them as they like. */
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

const LONGEST_MESSAGE = 300;
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** What a driver said, short and on one line, without what it was told in secret. */
export function tidyMessage(text: string, secrets: readonly string[]): string {
  const hidden = secrets
    .filter((secret) => secret !== '')
    .reduce((said, secret) => said.replaceAll(secret, '…'), text);
  const line = hidden.replaceAll(UNPRINTABLE, ' ').trim();
  return line.length > LONGEST_MESSAGE ? `${line.slice(0, LONGEST_MESSAGE)}…` : line;
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
  /** Texts that no message may repeat. */
  readonly secrets: readonly string[];
}

/** The answer on a driver's standard output.
 *  @throws FlexNotSupportedError, FlexFailureError; VolumeSetupError for what is no answer */
export function parseAnswer({ driver, call, code, stdout, secrets }: FlexOutput): FlexAnswer {
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
    const said = tidyMessage(stdout, secrets);
    const end = said === '' ? 'said nothing' : `gave no answer that can be read: ${said}`;
    throw new VolumeSetupError(`${what}: ended with exit code ${code} and ${end}`);
  }
  if (status !== 'Success')
    throw new FlexFailureError(`${what}: ${message || `status ${tidyMessage(status, secrets)}`}`);
  if (code !== 0) throw new VolumeSetupError(`${what}: told success, but ended with exit code ${code}`);
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

/** The folder of a driver, `<vendor>~<driver>`, and the name of its program in it.
 *  @param name `<vendor>/<driver>`, or `<driver>` alone
 *  @throws VolumeSetupError for what can't be a name */
export function driverPlace(name: string): { readonly folder: string; readonly program: string } {
  const parts = name.split('/');
  const program = parts.at(-1) ?? '';
  if (parts.length > 2 || !parts.every(isDriverWord))
    throw new VolumeSetupError(
      `flexVolume.driver ${JSON.stringify(name.slice(0, 100))} must be like vendor/driver, of letters, digits, "-", "." and "_"`,
    );
  return { folder: parts.join('~'), program };
}

/** Files of editors and packagers, which begin with a dot or an underscore, are no drivers. */
const isDriverWord = (word: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(word);

/** The driver to which a folder belongs; undefined where it can be none. */
export function driverOfFolder(folder: string): string | undefined {
  const parts = folder.split('~');
  return parts.length <= 2 && parts.every(isDriverWord) ? parts.join('/') : undefined;
}

/** Arguments of git for a gitRepo volume: the allowed repositories, with everything disabled that would
 *  run programs, follow links or prompt. Pure. */

import { posix } from 'node:path';
import type { GitRepoVolumeSource } from '#api/gen/core-v1.ts';
import { trimEnd } from '#api/kit/text/trim-end.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';

/** A remote repository. */
export interface Repository {
  /** Without credentials. */
  readonly url: string;
  /** Header for credentials that the URL contained. Secret. */
  readonly header?: { readonly url: string; readonly value: string };
  /** Default name of the clone's directory. */
  readonly name: string;
}

export interface ClonePlan extends Repository {
  /** Relative to the volume; `.` for the volume itself. */
  readonly folder: string;
  readonly revision: string;
}

const SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:', 'ssh:', 'git:']);
const MAX_TEXT_LENGTH = 4096;
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;
/** `user@host:path`, ssh's short form. */
const SSH_SHORT = /^(?:[\w.-]+@)?(?:\w[\w.-]*|\[[\da-fA-F:]+\]):(?!\/\/)(?!:)[^\s]+$/;

function refuse(field: string, text: string, why: string): VolumeSetupError {
  return new VolumeSetupError(`gitRepo.${field} ${JSON.stringify(text.slice(0, 200))} ${why}`);
}

function checkText(field: string, text: string): void {
  if (text.length > MAX_TEXT_LENGTH)
    throw refuse(field, text, `is longer than ${MAX_TEXT_LENGTH} characters`);
  if (text.startsWith('-')) throw refuse(field, text, 'must not begin with a hyphen');
  if (CONTROL.test(text)) throw refuse(field, text, 'must not contain control characters');
}

/** The last part of the path, as git names a clone. */
function nameOf(path: string): string {
  const bare = trimEnd(path, '/').replace(/\/\.git$/, '');
  return bare.slice(Math.max(bare.lastIndexOf('/'), bare.lastIndexOf(':')) + 1).replace(/\.git$/, '');
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/** @throws VolumeSetupError for anything but http, https, ssh or git */
export function parseRepository(text: string): Repository {
  checkText('repository', text);
  const wrong = 'must be an http, https, ssh or git URL';
  if (!text.includes('://')) {
    if (SSH_SHORT.test(text) && !text.startsWith('/')) return { url: text, name: nameOf(text) };
    throw refuse('repository', text, wrong);
  }
  // Nothing between the slashes and the host that other parsers might read differently.
  const url = /^[a-z]+:\/\/[^/\\]/.test(text) ? parseUrl(text) : undefined;
  if (
    url === undefined ||
    !SCHEMES.has(url.protocol) ||
    url.hostname === '' ||
    url.hostname.startsWith('-')
  ) {
    // Not even a part of the URL: it may contain a password.
    throw new VolumeSetupError(`gitRepo.repository ${wrong}`);
  }
  const name = nameOf(url.pathname);
  if (url.password === '' || url.protocol === 'ssh:' || url.protocol === 'git:') {
    if (url.password !== '') throw new VolumeSetupError('gitRepo.repository must not contain a password');
    return { url: text, name };
  }
  const login = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  url.username = '';
  url.password = '';
  const value = `Authorization: Basic ${Buffer.from(login).toString('base64')}`;
  return { url: url.href, name, header: { url: `${url.origin}/`, value } };
}

/** @throws VolumeSetupError if it leads out of the volume, or into git's own directory */
function checkFolder(directory: string): string {
  checkText('directory', directory);
  const parts = directory.split('/');
  const escapes = posix.isAbsolute(directory) || parts.includes('..') || directory.includes('\\');
  if (escapes) throw refuse('directory', directory, 'must be a relative path without ".."');
  if (parts.some((part) => part.toLowerCase() === '.git' || part.startsWith('-'))) {
    throw refuse('directory', directory, 'must not have a part ".git", or one that begins with a hyphen');
  }
  return posix.normalize(directory).replace(/\/$/, '');
}

/** @throws VolumeSetupError naming the field */
export function planClone({ repository, directory = '', revision = '' }: GitRepoVolumeSource): ClonePlan {
  const parsed = parseRepository(repository);
  checkText('revision', revision);
  if (/\s/.test(revision)) throw refuse('revision', revision, 'must not contain spaces');
  if (directory !== '') return { ...parsed, folder: checkFolder(directory), revision };
  if (/^\w[\w.-]*$/.test(parsed.name)) return { ...parsed, folder: parsed.name, revision };
  throw new VolumeSetupError('gitRepo.directory must be set: the repository’s address doesn’t end in a name');
}

/** Settings under which git runs nothing from the repository or the node. */
const SETTINGS: readonly string[] = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.untrackedCache=false',
  'core.symlinks=false',
  'core.attributesFile=/dev/null',
  'core.excludesFile=/dev/null',
  'core.protectHFS=true',
  'core.protectNTFS=true',
  'credential.helper=',
  'filter.lfs.smudge=',
  'filter.lfs.process=',
  'filter.lfs.required=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'http.followRedirects=initial',
  'http.lowSpeedLimit=1000',
  'http.lowSpeedTime=60',
  'protocol.allow=never',
  'protocol.ext.allow=never',
  'protocol.file.allow=never',
  'protocol.git.allow=always',
  'protocol.http.allow=always',
  'protocol.https.allow=always',
  'protocol.ssh.allow=always',
  'submodule.recurse=false',
  'advice.detachedHead=false',
  'safe.directory=*',
];

const settings: readonly string[] = SETTINGS.flatMap((setting) => ['-c', setting]);

/** No home directory, no configuration of the node, no prompts. */
const ENVIRONMENT: Readonly<Record<string, string>> = {
  HOME: '/nonexistent',
  XDG_CONFIG_HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ALLOW_PROTOCOL: 'http:https:ssh:git',
  GIT_SSH_COMMAND: 'ssh -F /dev/null -oBatchMode=yes -oStrictHostKeyChecking=yes -oPermitLocalCommand=no',
};

/** Returns the git commands in order, with the volume at `root`. */
export function cloneCommands(plan: ClonePlan, root: string): readonly (readonly string[])[] {
  const target = posix.join(root, plan.folder);
  const clone = [
    ...settings,
    'clone',
    '--quiet',
    '--no-local',
    '--no-hardlinks',
    '--no-recurse-submodules',
    '--template=',
    '--config',
    'core.symlinks=false',
    '--',
    plan.url,
    target,
  ];
  if (plan.revision === '') return [clone];
  const inside = [...settings, '-C', target];
  return [
    clone,
    [...inside, 'checkout', '--quiet', '--no-recurse-submodules', plan.revision, '--'],
    [...inside, 'reset', '--quiet', '--hard', '--no-recurse-submodules'],
  ];
}

/** Returns the environment of these commands; the only place that may contain credentials. */
export function cloneEnvironment({ header }: Repository): Readonly<Record<string, string>> {
  if (header === undefined) return ENVIRONMENT;
  return {
    ...ENVIRONMENT,
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `http.${header.url}.extraHeader`,
    GIT_CONFIG_VALUE_0: header.value,
  };
}

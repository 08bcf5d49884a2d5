/** Undoes a join on this machine: removes its settings from the agent configuration, and the files of the
 *  membership. The Node object stays on the API server, where an administrator deletes it. */
import { realpath, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { certificateFiles } from '../certs/files.ts';
import { withoutSettings } from './node-config.ts';
import { JOIN_RECORD_NAME, parseJoinRecord } from './record.ts';

/** Name prefixes of stored cluster certificates. */
const STORED = ['nodeagent-client', 'nodeagent-server'];

/** Resolves symbolic links, so that changing the file does not replace a link. */
export const realFile = (path: string): Promise<string> => realpath(path).catch(() => path);

/** @param configFile agent configuration; the record of the join is next to it
 *  @returns whether there was anything to undo
 *  @throws JoinError BadConfig, system errors of files */
export async function leaveCluster(configFile: string, onStep: (text: string) => void): Promise<boolean> {
  const recordFile = join(dirname(configFile), JOIN_RECORD_NAME);
  const recordText = await certificateFiles.read(recordFile);
  if (recordText === undefined) return false;
  const { added, madeConfig, files } = parseJoinRecord(recordText);
  const target = await realFile(configFile);
  const text = await certificateFiles.read(target);
  if (text !== undefined) {
    const rest = withoutSettings(text, added, configFile);
    const isEmpty = rest.split('\n').every((line) => /^\s*(?:#.*|\{\s*\})?$/.test(line));
    if (madeConfig && isEmpty) {
      await certificateFiles.remove(target);
      onStep(`removed ${configFile}`);
    } else if (rest !== text) {
      await certificateFiles.write(target, rest);
      onStep(`removed from ${configFile}: ${added.join(', ')}`);
    }
  }
  for (const file of files) await removeMembership(file);
  // Last: until then the operation can be repeated.
  await certificateFiles.remove(recordFile);
  onStep(`removed ${[...files, recordFile].join(', ')}`);
  return true;
}

async function removeMembership(file: string): Promise<void> {
  const folder = dirname(file);
  const names = await certificateFiles.list(folder);
  // The certificates signed by the CA are in its directory.
  const stored = basename(file) === 'cluster-ca.crt' ? names.filter(isStored) : [];
  for (const name of [...stored, ...names.filter((each) => each === basename(file))]) {
    await certificateFiles.remove(join(folder, name));
  }
  if (stored.length > 0) await rmdir(folder).catch(() => undefined);
}

const isStored = (name: string): boolean => STORED.some((prefix) => name.startsWith(prefix));

/** Undoes a join on this machine: what it added to the agent's configuration, and the files of the membership. The
 *  node object stays on the API server, where an administrator deletes it. */
import { realpath, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { certificateFiles } from '../certs/files.ts';
import { withoutSettings } from './node-config.ts';
import { JOIN_RECORD_NAME, parseJoinRecord } from './record.ts';

/** First words of the names under which certificates of the cluster are stored. */
const STORED = ['nodeagent-client', 'nodeagent-server'];

/** Path of a file with links followed, so that a change of the file does not replace the link. */
export const realFile = (path: string): Promise<string> => realpath(path).catch(() => path);

/** @param configFile of the agent; the record of the join is beside it
 *  @returns whether there was anything to undo
 *  @throws JoinError BadConfig, the system's error of a file */
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
  // Last: until then the whole can be begun again.
  await certificateFiles.remove(recordFile);
  onStep(`removed ${[...files, recordFile].join(', ')}`);
  return true;
}

async function removeMembership(file: string): Promise<void> {
  const folder = dirname(file);
  const names = await certificateFiles.list(folder);
  // Beside the authority are the certificates that it signed.
  const stored = basename(file) === 'cluster-ca.crt' ? names.filter(isStored) : [];
  for (const name of [...stored, ...names.filter((each) => each === basename(file))]) {
    await certificateFiles.remove(join(folder, name));
  }
  if (stored.length > 0) await rmdir(folder).catch(() => undefined);
}

const isStored = (name: string): boolean => STORED.some((prefix) => name.startsWith(prefix));

/** Check of writes: exactly the acknowledged writes are stored, once, at their reported versions. */
import { changed, textOf, type Version, type Write } from './history.ts';
import { type Change, possible, type Truth } from './truth.ts';

export function checkWrites(truth: Truth, writes: readonly Write[], errors: string[]): void {
  const byId = new Map(writes.map((write) => [write.id, write]));
  const done = new Map<string, Change>();
  for (const change of truth.changes) {
    if (change.type === 'DELETED' || isForeign(change.version)) continue;
    const id = change.version.value.data['last'] ?? '';
    const write = byId.get(id);
    if (write === undefined) errors.push(`${at(change.version)}: nobody wrote ${JSON.stringify(id)}`);
    else if (done.has(id)) errors.push(`${at(change.version)}: ${id} was done twice`);
    else checkEffect(change, write, errors);
    done.set(id, change);
  }
  for (const write of writes) {
    if (write.result.kind === 'done' && !done.has(write.id)) {
      errors.push(`${write.id}: responded with ${write.result.version.revision}, but lost`);
    }
    if (write.result.kind === 'refused') checkRefusal(truth, write, errors);
  }
  checkDeletions(truth, writes, errors);
}

/** Written by the server itself, not by a client of the history. */
const isForeign = ({ key }: Version): boolean => !/\/o\d+$/.test(key);

const at = ({ key, revision }: Version): string => `${key}@${revision}`;

/** Returns the value after the write. `undefined`: the write cannot succeed on the previous version. */
function effectOf({ intent }: Write, previous: Version | undefined): string | undefined {
  switch (intent.kind) {
    case 'create':
      return previous === undefined ? textOf(intent.value) : undefined;
    case 'apply':
      return textOf(changed(previous?.value, intent.change));
    case 'update':
      return isBase(intent.base, previous) ? textOf(intent.value) : undefined;
    case 'patch':
      return isBase(intent.base, previous) ? textOf(changed(previous?.value, intent.change)) : undefined;
    case 'delete':
      return undefined;
    default:
      return intent satisfies never;
  }
}

const isBase = (base: number | undefined, previous: Version | undefined): boolean =>
  previous !== undefined && (base === undefined || base === previous.revision);

function checkEffect({ version, previous }: Change, write: Write, errors: string[]): void {
  const { id, intent, result, floor } = write;
  const where = `${id} (${intent.kind}) ${at(version)}`;
  const effect = effectOf(write, previous);
  if (write.key !== version.key) errors.push(`${where}: meant for ${write.key}`);
  else if (effect === undefined) errors.push(`${where}: done on ${previous?.revision ?? 'nothing'}`);
  else if (effect !== textOf(version.value)) {
    errors.push(`${where}: made ${textOf(version.value)} instead of ${effect}`);
  }
  if (version.revision <= floor) errors.push(`${where}: ordered before what was seen at its start, ${floor}`);
  if (result.kind === 'refused') errors.push(`${where}: done although refused with ${result.reason}`);
  if (result.kind !== 'done') return;
  if (result.version.revision !== version.revision) {
    errors.push(`${where}: responded with revision ${result.version.revision}`);
  }
  if (textOf(result.version.value) !== textOf(version.value)) {
    errors.push(`${where}: responded with ${textOf(result.version.value)}`);
  }
}

/** A write is refused only for a state that was there while it was under way. */
function checkRefusal(truth: Truth, write: Write, errors: string[]): void {
  const { key, intent, result, floor, endedMs, id } = write;
  if (result.kind !== 'refused') return;
  const states = possible(truth, key, floor, truth.ceiling(endedMs));
  const isReason = (state: Version | undefined): boolean => {
    switch (intent.kind) {
      case 'create':
        return result.reason === 'AlreadyExists' && state !== undefined;
      case 'apply':
        return false;
      case 'update':
      case 'patch':
      case 'delete':
        return state === undefined
          ? result.reason === 'NotFound'
          : result.reason === 'Conflict' && intent.base !== undefined && intent.base !== state.revision;
      default:
        return intent satisfies never;
    }
  };
  if (!states.some(isReason)) {
    const text = states.map((state) => state?.revision ?? 'nothing').join(', ');
    errors.push(
      `${id} (${intent.kind} of ${JSON.stringify('base' in intent ? intent.base : '')}) ${key}: refused with ${result.status} ${result.reason} on ${text}`,
    );
  }
}

function checkDeletions(truth: Truth, writes: readonly Write[], errors: string[]): void {
  const deletions = new Map(
    truth.changes
      .filter(({ type, version }) => type === 'DELETED' && !isForeign(version))
      .map((change) => [change.previous?.uid ?? '', change]),
  );
  const wanted = writes.filter(({ intent }) => intent.kind === 'delete');
  const deleted = new Set<string>();
  for (const { id, intent, result, floor } of wanted) {
    if (result.kind !== 'deleted') continue;
    const change = deletions.get(result.uid);
    if (deleted.has(result.uid)) errors.push(`${id}: ${result.uid} was deleted twice`);
    deleted.add(result.uid);
    if (change === undefined) errors.push(`${id}: deletion of ${result.uid} is lost`);
    else if (change.version.revision <= floor) errors.push(`${id}: deleted before it was requested`);
    else if (
      intent.kind === 'delete' &&
      intent.base !== undefined &&
      intent.base !== change.previous?.revision
    ) {
      errors.push(`${id}: deleted ${change.previous?.revision ?? 'nothing'} instead of ${intent.base}`);
    }
  }
  for (const [uid, { version, previous }] of deletions) {
    const mayBe = wanted.some(({ key, result }) => key === version.key && result.kind === 'unknown');
    if (!deleted.has(uid) && !mayBe) errors.push(`${at(version)}: nobody deleted ${uid}`);
    if (version.uid !== uid) errors.push(`${at(version)}: deletion of ${version.uid} instead of ${uid}`);
    if (previous !== undefined && textOf(version.value) !== textOf(previous.value)) {
      errors.push(`${at(version)}: deleted with ${textOf(version.value)}`);
    }
  }
}

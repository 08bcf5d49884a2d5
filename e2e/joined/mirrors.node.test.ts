/** Static pods of a joined node, as the API server shows them. */
import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { isReady } from '../../testing/agent.ts';
import { containerId, isRunning, pod, sh, WAIT } from '../lifecycle/support.ts';
import { useJoined } from './support.ts';

const { configMirror, configSource } = VOCABULARIES.plat;
const manifest = (name: string, script = WAIT): string => pod(name, { containers: [sh('c', script)] });

describe.concurrent('mirror pods', () => {
  const joined = useJoined();

  test('show a static pod, its status too, and go with its manifest', async () => {
    await joined.agent.put('seen.json', manifest('seen'));
    const mirror = await joined.shows('seen-n1', isReady);
    expect(mirror.metadata?.annotations?.[configMirror]).toBeTruthy();
    expect(mirror.metadata?.annotations?.[configSource]).toBe('file');
    expect(mirror.metadata?.ownerReferences?.[0]).toMatchObject({ kind: 'Node', name: 'n1' });
    await joined.agent.drop('seen.json');
    await joined.isGone('seen-n1');
    expect(await joined.onServer('seen-n1')).toBeUndefined();
  });

  test('are created again when they are deleted, and nothing is restarted', async () => {
    await joined.agent.put('kept.json', manifest('kept'));
    const before = await joined.shows('kept-n1', isReady);
    await joined.remove('kept-n1');
    const after = await joined.shows(
      'kept-n1',
      (found) => found.metadata?.uid !== before.metadata?.uid && isReady(found),
    );
    expect(containerId(after, 'c')).toBe(containerId(before, 'c'));
  });

  test('follow a changed manifest', async () => {
    await joined.agent.put('turn.json', manifest('turn'));
    const before = await joined.shows('turn-n1', isReady);
    await joined.agent.put('turn.json', manifest('turn', `${WAIT} # changed`));
    const after = await joined.shows(
      'turn-n1',
      (found) => found.metadata?.uid !== before.metadata?.uid && isRunning('c')(found),
    );
    expect(after.metadata?.annotations?.[configMirror]).not.toBe(
      before.metadata?.annotations?.[configMirror],
    );
  });
});

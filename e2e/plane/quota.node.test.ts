/** Quotas under concurrent creations and deletions. Source: ResourceQuota, document 2 §2.7. */
import { expect, test } from 'vitest';
import { usePlane } from './support.ts';

const plane = usePlane('plat', ['--controllers=resourcequota', '--disable-admission-plugins=ServiceAccount']);

test('32 creators get what the quota has, and never more, while others delete and all is counted again', async () => {
  const [most, rounds] = [20, 12];
  const ns = await plane.namespace();
  const quotas = `${ns}/resourcequotas`;
  await plane.post(quotas, { metadata: { name: 'a' }, spec: { hard: { secrets: `${most}` } } });
  await plane.post(quotas, { metadata: { name: 'b' }, spec: { hard: { 'count/secrets': `${most + 5}` } } });
  await using counted = await plane.watch(`${quotas}?watch=1`);
  const waiting = new Set(['a', 'b']);
  while (waiting.size > 0) {
    const event = await counted.next();
    if (event?.object.status?.['used'] !== undefined) waiting.delete(event.object.metadata.name ?? '');
  }
  await using secrets = await plane.watch(`${ns}/secrets?watch=1&resourceVersion=${await plane.revision()}`);
  const statuses: number[] = [];
  let made = 0;
  await Promise.all(
    Array.from({ length: 32 }, async (_, creator) => {
      for (let round = 0; round < rounds; round += 1) {
        const name = `s${creator}-${round}`;
        const { status } = await plane.post(`${ns}/secrets`, { metadata: { name } });
        statuses.push(status);
        if (status !== 201) continue;
        made += 1;
        if (creator % 2 === 0) await plane.delete(`${ns}/secrets/${name}`);
      }
    }),
  );
  expect(new Set(statuses)).toEqual(new Set([201, 403]));
  // Deleted objects are released when the controller has recounted: then the quota can be used up.
  for (let filled = (await plane.get(`${ns}/secrets`)).body.items.length; filled < most; ) {
    const { status } = await plane.post(`${ns}/secrets`, { metadata: { name: `last-${made}` } });
    if (status === 201) [made, filled] = [made + 1, filled + 1];
    else await counted.next();
  }
  expect((await plane.post(`${ns}/secrets`, { metadata: { name: 'beyond' } })).status).toBe(403);
  // A watcher never sees more objects at once than the quota allows.
  let [there, highest] = [0, 0];
  for (let added = 0; added < made; ) {
    const event = await secrets.next();
    if (event?.type === 'ADDED') [there, added] = [there + 1, added + 1];
    if (event?.type === 'DELETED') there -= 1;
    highest = Math.max(highest, there);
  }
  expect(highest).toBe(most);
});

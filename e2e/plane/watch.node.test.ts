/** Watches. Document 1 §2.3, 4.5 and 6. */
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { configMap, pod, type Reply, usePlane, VOCABULARY_NAMES, type WatchEvent } from './support.ts';

const nameIn = (event: string): string | undefined => (JSON.parse(event) as WatchEvent).object.metadata.name;

const secret = (name: string, value: string): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData: { value },
});

describe('watch', () => {
  const plane = usePlane();
  const collection = async (): Promise<string> => `${await plane.namespace()}/configmaps`;

  test('is 200 with a chunked stream of one JSON document for each event', async () => {
    const path = await collection();
    await plane.post(path, configMap('a'));
    await using stream = await plane.watch(`${path}?watch=1`);
    expect(stream).toMatchObject({
      status: 200,
      headers: { 'transfer-encoding': 'chunked', 'content-type': 'application/json' },
    });
    const event = await stream.next();
    expect(Object.keys(event ?? {})).toEqual(['type', 'object']);
    const { body } = await plane.get(`${path}/a`);
    expect(event).toEqual({ type: 'ADDED', object: body });
  });

  test('changes after the headers have been sent are reported one by one', async () => {
    const path = await collection();
    for (const query of ['watch=1', 'watch=1&resourceVersion=0']) {
      const name = `a-${query.length}`;
      await using stream = await plane.watch(`${path}?${query}&fieldSelector=metadata.name=${name}`);
      await plane.post(path, configMap(name));
      await plane.put(`${path}/${name}`, configMap(name, '2'));
      await plane.delete(`${path}/${name}`);
      const expected = ['ADDED', 'MODIFIED', 'DELETED'].map((type) => `${type} ${name}`);
      expect(await stream.take(3)).toEqual(expected);
    }
  });

  test('creations, changes and deletions are ADDED, MODIFIED and DELETED, in order', async () => {
    const path = await collection();
    await using stream = await plane.watch(`${path}?watch=1&resourceVersion=${await plane.revision()}`);
    await plane.post(path, configMap('a'));
    await plane.put(`${path}/a`, configMap('a', '2'));
    await plane.patch(`${path}/a`, { data: { value: '3' } });
    await plane.apply(`${path}/a?fieldManager=m&force=true`, { ...configMap('a', '4') });
    await plane.delete(`${path}/a`);
    const expected = ['ADDED', 'MODIFIED', 'MODIFIED', 'MODIFIED', 'DELETED'];
    expect(await stream.take(5)).toEqual(expected.map((type) => `${type} a`));
  });

  test('every change after the start appears, and has a version of its own', async () => {
    const path = await collection();
    await using stream = await plane.watch(`${path}?watch=1&resourceVersion=${await plane.revision()}`);
    await Promise.all(Array.from({ length: 50 }, (_, index) => plane.post(path, configMap(`m${index}`))));
    const versions: number[] = [];
    for (let count = 0; count < 50; count += 1) {
      versions.push(Number((await stream.next())?.object.metadata.resourceVersion));
    }
    expect(new Set(versions).size).toBe(50);
    expect(versions).toEqual(versions.toSorted((left, right) => left - right));
  });

  test('DELETED shows the last state, with the version of the deletion', async () => {
    const path = await collection();
    const { body } = await plane.post(path, configMap('a', 'last'));
    await using stream = await plane.watch(
      `${path}?watch=1&resourceVersion=${body.metadata.resourceVersion}`,
    );
    await plane.delete(`${path}/a`);
    const event = await stream.next();
    expect(event).toMatchObject({ type: 'DELETED', object: { data: { value: 'last' } } });
    expect(Number(event?.object.metadata.resourceVersion)).toBeGreaterThan(
      Number(body.metadata.resourceVersion),
    );
  });

  test('resumes from the last version seen, without gap or duplicate', async () => {
    const path = await collection();
    let version = await plane.revision();
    const seen: string[] = [];
    for (let round = 0; round < 5; round += 1) {
      await plane.post(path, configMap(`a${round}`));
      await plane.post(path, configMap(`b${round}`));
      await using stream = await plane.watch(`${path}?watch=1&resourceVersion=${version}`);
      for (let count = 0; count < (round === 0 ? 1 : 2); count += 1) {
        const event = await stream.next();
        seen.push(event?.object.metadata.name ?? '');
        version = event?.object.metadata.resourceVersion ?? '';
      }
    }
    await using rest = await plane.watch(`${path}?watch=1&resourceVersion=${version}`);
    seen.push((await rest.next())?.object.metadata.name ?? '');
    expect(seen).toEqual([0, 1, 2, 3, 4].flatMap((round) => [`a${round}`, `b${round}`]));
  });

  test('a list and a watch from its version together miss nothing', async () => {
    const path = await collection();
    await plane.post(path, configMap('a'));
    const list = await plane.get(path);
    await plane.post(path, configMap('b'));
    await using stream = await plane.watch(
      `${path}?watch=1&resourceVersion=${list.body.metadata.resourceVersion}`,
    );
    expect(await stream.take(1)).toEqual(['ADDED b']);
  });

  test('of one object reports only that object', async () => {
    const path = await collection();
    await plane.post(path, configMap('a'));
    await plane.post(path, configMap('b'));
    await using stream = await plane.watch(`${path}/b?watch=1`);
    await plane.patch(`${path}/a`, { data: { value: '2' } });
    await plane.delete(`${path}/b`);
    expect(await stream.take(2)).toEqual(['ADDED b', 'DELETED b']);
  });

  test('of a name across namespaces finds it in each of them', async () => {
    const [a, b] = [await collection(), await collection()];
    for (const path of [a, b]) {
      await plane.post(path, configMap('everywhere'));
      await plane.post(path, configMap('other'));
    }
    await using stream = await plane.watch(
      '/api/v1/configmaps?watch=1&fieldSelector=metadata.name%3Deverywhere',
    );
    expect(await stream.take(2)).toEqual(['ADDED everywhere', 'ADDED everywhere']);
  });

  test('an object that comes into or leaves the selection is ADDED or DELETED', async () => {
    const path = await collection();
    await using labels = await plane.watch(`${path}?watch=1&labelSelector=on%3Dyes`);
    await plane.post(path, configMap('a'));
    await plane.patch(`${path}/a`, { metadata: { labels: { on: 'yes' } } });
    await plane.patch(`${path}/a`, { data: { value: '2' } });
    await plane.patch(`${path}/a`, { metadata: { labels: { on: 'no' } } });
    await plane.delete(`${path}/a`);
    await plane.post(path, configMap('end', '1', { labels: { on: 'yes' } }));
    expect(await labels.take(4)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED end']);
  });

  test('fields select as labels do', async () => {
    const pods = (await collection()).replace('configmaps', 'pods');
    await using stream = await plane.watch(`${pods}?watch=1&fieldSelector=status.phase%3DRunning`);
    await plane.post(pods, pod('web'));
    await plane.patch(`${pods}/web/status`, { status: { phase: 'Running' } });
    await plane.patch(`${pods}/web/status`, { status: { phase: 'Failed' } });
    expect(await stream.take(2)).toEqual(['ADDED web', 'DELETED web']);
  });

  test('bookmarks hold nothing but kind and version, and come at the end on request', async () => {
    const path = await collection();
    await plane.post(path, configMap('a'));
    await using stream = await plane.watch(`${path}?watch=1&allowWatchBookmarks=true&timeoutSeconds=1`);
    expect(await stream.take(1)).toEqual(['ADDED a']);
    const bookmark = await stream.next();
    expect(bookmark).toEqual({
      type: 'BOOKMARK',
      object: {
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata: { resourceVersion: expect.stringMatching(/^\d+$/) as unknown },
      },
    });
    expect(await stream.next()).toBeUndefined();
    const { resourceVersion } = bookmark?.object.metadata ?? {};
    expect(
      (await plane.get(`${path}?watch=1&timeoutSeconds=1&resourceVersion=${resourceVersion}`)).text,
    ).toBe('');
  });

  test('timeoutSeconds ends a watch in good order, without bookmarks unless requested', async () => {
    const path = await collection();
    const { status, text } = await plane.get(`${path}?watch=1&timeoutSeconds=1`);
    expect({ status, text }).toEqual({ status: 200, text: '' });
  });

  test('a slow reader and one that left cost others nothing', async () => {
    const path = await collection();
    const slow = await plane.watch(`${path}?watch=1`);
    const left = await plane.watch(`${path}?watch=1`);
    left.close();
    await using stream = await plane.watch(`${path}?watch=1`);
    for (let round = 0; round < 20; round += 1) {
      await plane.post(path, configMap(`m${round}`, 'x'.repeat(100_000)));
    }
    expect(await stream.take(20)).toHaveLength(20);
    slow.close();
  });

  test('shared events are compressed for clients that accept gzip, except secrets', async () => {
    const namespace = await plane.namespace();
    const path = `${namespace}/configmaps`;
    const watching = (resource: string): Promise<readonly Reply[]> => {
      const query = 'watch=1&timeoutSeconds=4&resourceVersion=0';
      const reply = (): Promise<Reply> =>
        plane.get(`${namespace}/${resource}?${query}`, { 'accept-encoding': 'gzip' });
      return Promise.all(Array.from({ length: 10 }, reply));
    };
    await plane.post(path, configMap('first'));
    const replies = Promise.all([watching('configmaps'), watching('secrets')]);
    await using witness = await plane.watch(`${path}?watch=1`);
    for (let round = 0; round < 5; round += 1) {
      await plane.post(path, configMap(`m${round}`, 'x'.repeat(50_000)));
      await plane.post(`${namespace}/secrets`, secret(`s${round}`, 'x'.repeat(50_000)));
    }
    expect(await witness.take(6)).toHaveLength(6);
    const [configMaps, secrets] = await replies;
    for (const { headers, bytes } of configMaps) {
      expect(headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
      expect(bytes.length).toBeLessThan(5 * 50_000);
      const events = gunzipSync(bytes).toString().trimEnd().split('\n');
      expect(events.map((event) => nameIn(event))).toEqual(['first', 'm0', 'm1', 'm2', 'm3', 'm4']);
    }
    for (const { headers, text } of secrets) {
      expect(headers).not.toHaveProperty('content-encoding');
      expect(text.trimEnd().split('\n')).toHaveLength(5);
    }
  });

  test('as a Table, each event has a table of one row', async () => {
    const path = await collection();
    await plane.post(path, configMap('a'));
    const domain = plane.words.apiGroupDomain;
    await using stream = await plane.watch(`${path}?watch=1`, {
      accept: `application/json;as=Table;g=meta.${domain};v=v1`,
    });
    const first = await stream.next();
    expect(first).toMatchObject({
      type: 'ADDED',
      object: { kind: 'Table', rows: [{ cells: ['a', 1, expect.anything()] }] },
    });
    expect(first?.object.columnDefinitions.length).toBeGreaterThan(0);
    await plane.post(path, configMap('b'));
    expect((await stream.next())?.object.rows).toHaveLength(1);
  });

  test('as a WebSocket, each event is a frame', async () => {
    const path = await collection();
    await plane.post(path, configMap('a'));
    const options = plane.server.credentials();
    const socket = new WebSocket(`${plane.server.url.replace('https', 'wss')}${path}?watch=1`, options);
    const frames: string[] = [];
    const two = new Promise<void>((resolve, reject) => {
      socket.on('error', reject);
      socket.on('message', (data: Buffer) => {
        frames.push(data.toString());
        if (frames.length === 2) resolve();
      });
    });
    await new Promise((resolve) => socket.on('open', resolve));
    await plane.post(path, configMap('b'));
    await two;
    socket.close();
    expect(frames.map((frame) => (JSON.parse(frame) as { type: string }).type)).toEqual(['ADDED', 'ADDED']);
  });
});

describe.each(VOCABULARY_NAMES)('watch in the %s vocabulary', (vocabulary) => {
  const plane = usePlane(vocabulary);

  test('sendInitialEvents marks the end of the state with a bookmark', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    await plane.post(path, configMap('a'));
    await using stream = await plane.watch(
      `${path}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan`,
    );
    expect(await stream.take(1)).toEqual(['ADDED a']);
    expect(await stream.next()).toMatchObject({
      type: 'BOOKMARK',
      object: { metadata: { annotations: { [plane.words.initialEventsEnd]: 'true' } } },
    });
  });

  test('in protobuf, each event is a frame with its length before it', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    await plane.post(path, configMap('a'));
    const accept = `${plane.words.protobufContentType};stream=watch`;
    const response = await plane.get(`${path}?watch=1&timeoutSeconds=1`, { accept });
    expect(response.headers['content-type']).toBe(accept);
    const length = response.bytes.readUInt32BE(0);
    const frame = response.bytes.subarray(4, 4 + length);
    expect(response.bytes).toHaveLength(4 + length);
    // The event itself has no envelope; its object has one.
    expect(frame.subarray(0, 7).toString('latin1')).toBe('\x0a\x05ADDED');
    const object = frame.subarray(frame.indexOf('6b387300', 'hex'));
    expect(plane.protobuf.decode(object, { apiVersion: 'v1', kind: 'ConfigMap' })).toMatchObject({
      kind: 'ConfigMap',
      metadata: { name: 'a' },
    });
  });
});

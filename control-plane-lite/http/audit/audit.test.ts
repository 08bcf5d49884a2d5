import { Readable } from 'node:stream';
import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { createMetricsRegistry } from '#api/kit/metrics.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { Handler } from '../contract.ts';
import { jsonResponse, startTestServer } from '../server.fixture.ts';
import { createAuditor } from './audit.ts';
import type { AuditBackend } from './backend.ts';
import { sourceIPs } from './event.ts';
import { createAuditMetrics } from './metrics.ts';
import { parseAuditPolicy } from './policy.ts';

/** The server's own annotations of its decision. */
const DECISION = `authorization.${VOCABULARIES.plat.apiGroupDomain}`;

type Event = Readonly<Record<string, unknown>>;

interface Audited extends AsyncDisposable {
  readonly url: string;
  readonly lines: readonly string[];
  readonly metrics: () => string;
  /** Ends the server, so that every event is there. */
  events(): Promise<readonly Event[]>;
}

async function start(rule: object, resources: Handler, room = 100, maxBodyBytes = 2000): Promise<Audited> {
  const clock = createFakeClock(Date.UTC(2026, 10, 21, 12));
  const registry = createMetricsRegistry();
  const lines: string[] = [];
  const writer = {
    write: (line: string) => lines.length < room && lines.push(line) > 0,
    close: () => Promise.resolve(),
  };
  const value = { apiVersion: 'audit.example.org/v1', kind: 'Policy', rules: [rule] };
  const policy = parseAuditPolicy(value, 'example.org');
  const backend: AuditBackend = {
    name: 'log',
    isStrict: false,
    process: ({ line }) => writer.write(line),
    close: () => writer.close(),
  };
  const metrics = createAuditMetrics(registry);
  const audit = createAuditor(
    { clock, metrics, backends: [backend] },
    { policy, domain: 'example.org', maxBodyBytes },
  );
  const server = await startTestServer({ deps: { audit, clock, registry }, resources });
  return {
    url: server.url,
    lines,
    metrics: () => registry.text(),
    async events() {
      await server.server.close({ drainMs: 0 });
      return lines.map((line) => JSON.parse(line) as Event);
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function post(audited: Audited, body: string, headers: Record<string, string> = {}): Promise<void> {
  const response = await request(`${audited.url}/api/v1/namespaces/n/pods?a=1`, {
    method: 'POST',
    body,
    headers: {
      authorization: 'Bearer jane',
      'audit-id': 'id-1',
      'user-agent': 'me/1',
      'content-type': 'application/json',
      ...headers,
    },
  });
  await response.body.dump();
}

const creates: Handler = async (incoming) => {
  const body = JSON.parse((await incoming.readBody()).toString()) as object;
  incoming.annotate('example.org/seen', 'yes');
  return jsonResponse({ ...body, created: true }, 201);
};

describe('createAuditor', () => {
  test('records both stages of a request, with its metadata alone', async () => {
    await using audited = await start({ level: 'Metadata' }, creates);
    await post(audited, '{"kind":"Pod"}');
    const [received, complete, ...rest] = await audited.events();
    expect(rest).toEqual([]);
    const common = {
      kind: 'Event',
      apiVersion: 'audit.example.org/v1',
      level: 'Metadata',
      auditID: 'id-1',
      requestURI: '/api/v1/namespaces/n/pods?a=1',
      verb: 'create',
      user: { username: 'jane' },
      sourceIPs: ['127.0.0.1'],
      userAgent: 'me/1',
      objectRef: { resource: 'pods', namespace: 'n', apiVersion: 'v1' },
      requestReceivedTimestamp: '2026-11-21T12:00:00.000000Z',
      stageTimestamp: '2026-11-21T12:00:00.000000Z',
    };
    expect(received).toEqual({ ...common, stage: 'RequestReceived' });
    expect(complete).toEqual({
      ...common,
      stage: 'ResponseComplete',
      responseStatus: { metadata: {}, code: 201 },
      annotations: {
        'example.org/seen': 'yes',
        [`${DECISION}/decision`]: 'allow',
        [`${DECISION}/reason`]: '',
      },
    });
  });

  test.each([
    ['Metadata', undefined, undefined],
    ['Request', { kind: 'Pod' }, undefined],
    ['RequestResponse', { kind: 'Pod' }, { kind: 'Pod', created: true }],
  ])('at level %s records the bodies of that level', async (level, requestObject, responseObject) => {
    await using audited = await start({ level, omitStages: ['RequestReceived'] }, creates);
    await post(audited, '{\n"kind":\n"Pod"}');
    const [event] = await audited.events();
    expect([event?.['requestObject'], event?.['responseObject']]).toEqual([requestObject, responseObject]);
    expect(audited.lines.every((line) => !line.includes('\n'))).toBe(true);
  });

  test('omits managed fields if the policy requires it', async () => {
    await using audited = await start({ level: 'RequestResponse', omitManagedFields: true }, creates);
    await post(audited, '{"metadata":{"name":"p","managedFields":[{}]}}');
    const events = await audited.events();
    expect(events[1]).toMatchObject({
      requestObject: { metadata: { name: 'p' } },
      responseObject: { metadata: { name: 'p' } },
    });
    expect(audited.lines.join('')).not.toContain('managedFields');
  });

  test('omits large bodies with an annotation', async () => {
    await using audited = await start({ level: 'Request' }, creates);
    await post(audited, JSON.stringify({ text: 'x'.repeat(3000) }));
    const events = await audited.events();
    expect(events[1]).toMatchObject({ annotations: { 'audit.example.org/truncated': 'true' } });
    expect(events[1]?.['requestObject']).toBeUndefined();
  });

  test.each([
    ['application/json', '{no json', 'requestObject'],
    ['application/yaml', 'a: b', 'requestObject,responseObject'],
  ])('reports of %s that the omitted body was unreadable', async (type, text, left) => {
    const handler: Handler = async (incoming) => {
      await incoming.readBody();
      if (type === 'application/json') return jsonResponse({});
      return { kind: 'bytes', status: 200, contentType: type, body: Buffer.from('a: b') };
    };
    await using audited = await start({ level: 'RequestResponse' }, handler);
    await post(audited, text, { 'content-type': type });
    const events = await audited.events();
    expect(events[1]).toMatchObject({ annotations: { 'audit.example.org/unreadable': left } });
    expect(events[1]).not.toHaveProperty('requestObject');
  });

  test.each([
    ['RequestResponse', { kind: 'Pod' }, { kind: 'Pod' }],
    ['Request', { kind: 'Pod' }, undefined],
    ['Metadata', undefined, undefined],
  ])(
    'records as JSON the bodies that handlers read and write in other encodings, at level %s',
    async (level, requestObject, responseObject) => {
      const seen: unknown[] = [];
      const handler: Handler = async (incoming) => {
        await incoming.readBody();
        const value = { kind: 'Pod' };
        incoming.noteBody?.(value);
        value.kind = 'changed';
        seen.push(incoming.wantsJson);
        const json =
          incoming.wantsJson === true ? { json: [Buffer.from('{"kind":'), Buffer.from('"Pod"}')] } : {};
        return {
          kind: 'bytes',
          status: 200,
          contentType: 'application/yaml',
          body: Buffer.from('kind: Pod'),
          ...json,
        };
      };
      await using audited = await start({ level, omitStages: ['RequestReceived'] }, handler);
      await post(audited, 'kind: Pod', { 'content-type': 'application/yaml' });
      const [event] = await audited.events();
      expect([event?.['requestObject'], event?.['responseObject']]).toEqual([requestObject, responseObject]);
      expect(JSON.stringify(event)).not.toContain('unreadable');
      expect(seen).toEqual([level === 'RequestResponse']);
    },
  );

  test.each([
    ['Metadata', false],
    ['Request', true],
    ['RequestResponse', true],
  ])('omits bodies of proxied requests with an annotation, at level %s', async (level, marked) => {
    await using audited = await start({ level, omitStages: ['RequestReceived', 'ResponseStarted'] }, () => ({
      kind: 'raw',
      run(raw) {
        if (raw.kind === 'plain') Readable.from(['{"kind":"Pod"}']).pipe(raw.reply);
      },
    }));
    await post(audited, '{"kind":"Pod"}');
    const [event] = await audited.events();
    expect([event?.['requestObject'], event?.['responseObject']]).toEqual([undefined, undefined]);
    expect(JSON.stringify(event).includes('"audit.example.org/passed-on":"true"')).toBe(marked);
  });

  test('records the complete error that the client received', async () => {
    await using audited = await start({ level: 'Metadata' }, async (incoming) => {
      await incoming.readBody();
      throw new StatusError('Conflict', 'too late', { details: { name: 'p' } });
    });
    await post(audited, 'no json {');
    const events = await audited.events();
    expect(events[1]?.['responseStatus']).toEqual({
      metadata: {},
      status: 'Failure',
      message: 'too late',
      reason: 'Conflict',
      details: { name: 'p' },
      code: 409,
    });
  });

  test('records requests without a user', async () => {
    await using audited = await start({ level: 'Metadata' }, creates);
    await post(audited, '{}', { authorization: 'Bearer bad' });
    const events = await audited.events();
    expect(events.at(-1)).toMatchObject({ user: {}, responseStatus: { code: 401 } });
  });

  test('records streams when they begin and when they end', async () => {
    await using audited = await start({ level: 'Metadata' }, () => ({
      kind: 'stream',
      contentType: 'application/json',
      start(sink) {
        sink.write(Buffer.from('x'));
        sink.end();
        return () => undefined;
      },
    }));
    const { body } = await request(`${audited.url}/api/v1/pods?watch=1`);
    expect(await body.text()).toBe('x');
    expect((await audited.events()).map((event) => event['stage'])).toEqual([
      'RequestReceived',
      'ResponseStarted',
      'ResponseComplete',
    ]);
  });

  test('records nothing where no rule of the policy applies', async () => {
    await using audited = await start({ level: 'Metadata', users: ['joe'] }, creates);
    await post(audited, '{}');
    expect(await audited.events()).toEqual([]);
  });

  test('counts events that exceed the queue', async () => {
    await using audited = await start({ level: 'Metadata' }, creates, 1);
    await post(audited, '{}');
    await audited.events();
    expect(audited.metrics()).toContain('apiserver_audit_event_total 1\n');
    expect(audited.metrics()).toContain('apiserver_audit_error_total{plugin="log"} 1\n');
  });
});

describe('sourceIPs', () => {
  test.each([
    [{}, '127.0.0.1', ['127.0.0.1']],
    [{}, '::ffff:10.0.0.1', ['10.0.0.1']],
    [{}, '', []],
    [{ 'x-forwarded-for': '1.2.3.4, ::1, junk' }, '10.0.0.1', ['1.2.3.4', '::1', '10.0.0.1']],
    [{ 'x-real-ip': '1.2.3.4' }, '1.2.3.4', ['1.2.3.4']],
  ])('of %j from %s', (headers, remote, expected) => {
    expect(sourceIPs(headers, remote)).toEqual(expected);
  });
});

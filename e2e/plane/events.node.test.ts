/** Events of both APIs, which are the same objects. events/v1 and core/v1. */
import { describe, expect, test } from 'vitest';
import { type Json, usePlane } from './support.ts';

describe('events', () => {
  const plane = usePlane();
  const core = '/api/v1/namespaces/default/events';
  const newer = plane.path('events/v1', 'namespaces/default/events');
  const regarding = { kind: 'Pod', namespace: 'default', name: 'p' };
  const event = (name: string, more: Json = {}): Json => ({
    metadata: { name },
    eventTime: '2026-11-21T11:59:00.000000Z',
    reportingController: 'example.com/agent',
    reportingInstance: 'agent-1',
    action: 'Start',
    reason: 'Started',
    type: 'Normal',
    note: 'all well',
    regarding,
    ...more,
  });
  const series = { count: 2, lastObservedTime: '2026-11-21T11:59:50.000000Z' };

  test('of the newer API are checked by its rules, under its names', async () => {
    expect((await plane.post(newer, event('good'))).status).toBe(201);
    const bad = await plane.post(newer, {
      metadata: { name: 'bad' },
      regarding,
      reason: 'Started',
      type: 'Odd',
      deprecatedCount: 1,
    });
    expect(bad.status).toBe(422);
    expect(bad.body.details.causes?.map(({ field }) => field)).toEqual([
      'eventTime',
      'reportingController',
      'reportingInstance',
      'action',
      'type',
      'deprecatedCount',
    ]);
    expect((await plane.get(`${core}/good`)).body).toMatchObject({
      involvedObject: regarding,
      message: 'all well',
    });
  });

  test('of the newer API change in their series and their text only', async () => {
    await plane.post(newer, event('series'));
    const { body } = await plane.get(`${newer}/series`);
    expect((await plane.put(`${newer}/series`, { ...body, series })).status).toBe(200);
    expect((await plane.patch(`${newer}/series`, { series: { ...series, count: 3 } })).status).toBe(200);
    const noted = await plane.patch(`${newer}/series`, { note: 'other' });
    expect([noted.status, noted.body]).toMatchObject([200, { note: 'other' }]);
    const other = await plane.patch(`${newer}/series`, { reason: 'Other' });
    expect([other.status, other.body.details.causes?.[0]?.field]).toEqual([422, 'reason']);
    expect((await plane.patch(`${core}/series`, { message: 'other' })).status).toBe(200);
  });

  test('of the core group may have less, and can be changed by the newer API', async () => {
    const made = await plane.post(core, {
      metadata: { name: 'old' },
      involvedObject: regarding,
      reason: 'Started',
      message: 'x',
      count: 1,
      source: { component: 'a' },
      firstTimestamp: '2026-11-21T11:59:00Z',
    });
    expect(made.status).toBe(201);
    const { body } = await plane.get(`${newer}/old`);
    expect(body).toMatchObject({ deprecatedCount: 1, note: 'x', deprecatedSource: { component: 'a' } });
    expect((await plane.put(`${newer}/old`, { ...body, series })).status).toBe(200);
  });
});

describe('a job with a generated name', () => {
  const plane = usePlane();

  test('has pods with that name', async () => {
    const template = {
      spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] },
    };
    const { status, body } = await plane.post('/apis/batch/v1/namespaces/default/jobs', {
      metadata: { generateName: 'job-' },
      spec: { template },
    });
    expect(status).toBe(201);
    expect(body.spec).toMatchObject({
      template: {
        metadata: { labels: { 'job-name': body.metadata.name, 'controller-uid': body.metadata.uid } },
      },
    });
  });
});

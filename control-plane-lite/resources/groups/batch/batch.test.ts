import { describe, expect, it, test } from 'vitest';
import {
  type Changes,
  created,
  type ErrorRow,
  errorsOf,
  type KindSubject,
  objectWith,
  rowOf,
  TEMPLATE,
  throughPart,
  updateFaultsOf,
} from '../kind.fixture.ts';
import { cronJob } from './cron-job.ts';
import { job } from './job.ts';

const metadata = {
  name: 'once',
  namespace: 'default',
  uid: 'u-1',
  creationTimestamp: '2026-11-21T11:59:00Z',
};
const template = {
  metadata: { labels: { 'controller-uid': 'u-1', 'job-name': 'once' } },
  spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i:1' }] },
};
const POLICY = 'spec.template.spec.restartPolicy';

describe('a job', () => {
  const subject: KindSubject = {
    typeRef: 'batch/v1.Job',
    entry: job,
    base: { metadata, spec: { selector: { matchLabels: { 'controller-uid': 'u-1' } }, template } },
  };
  const indexed = { 'spec.completionMode': 'Indexed', 'spec.completions': 2 };

  test.each<ErrorRow>([
    ['is right', {}, []],
    [
      'below zero',
      { 'spec.parallelism': -1, 'spec.backoffLimit': -1, 'spec.completions': -1 },
      ['spec.parallelism Invalid', 'spec.completions Invalid', 'spec.backoffLimit Invalid'],
    ],
    [
      'with times below zero',
      { 'spec.activeDeadlineSeconds': -1, 'spec.ttlSecondsAfterFinished': -1 },
      ['spec.activeDeadlineSeconds Invalid', 'spec.ttlSecondsAfterFinished Invalid'],
    ],
    ['whose pods run for ever', { [POLICY]: 'Always' }, [`${POLICY} Required`]],
    ['whose pods restart', { [POLICY]: 'OnFailure' }, []],
    [
      'with a broken pod',
      { 'spec.template.spec.containers': [] },
      ['spec.template.spec.containers Required'],
    ],
    [
      'of another UID',
      { 'metadata.uid': 'u-2' },
      ['spec.template.metadata.labels[controller-uid] Invalid', 'spec.selector Invalid'],
    ],
    ['of another name', { 'metadata.name': 'two' }, ['spec.template.metadata.labels[job-name] Invalid']],
    [
      'with a selector of others',
      { 'spec.manualSelector': true, 'spec.selector.matchLabels': { a: 'b' } },
      ['spec.template.metadata.labels Invalid'],
    ],
    [
      'with its own selector',
      {
        'spec.manualSelector': true,
        'spec.selector.matchLabels': { 'job-name': 'once' },
      },
      [],
    ],
    [
      'without any selector',
      { 'spec.manualSelector': true, 'spec.selector': undefined },
      ['spec.selector Required'],
    ],
    ['indexed', indexed, []],
    [
      'indexed without end',
      { 'spec.completionMode': 'Indexed', 'spec.parallelism': 1 },
      ['spec.completions Required'],
    ],
    ['indexed and broad', { ...indexed, 'spec.parallelism': 100_001 }, ['spec.parallelism Invalid']],
    [
      'indexed with a name that is no host name',
      { ...indexed, 'metadata.name': 'a.b' },
      ['spec.template.metadata.labels[job-name] Invalid', 'metadata.name Invalid'],
    ],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  const suspended = { 'spec.suspend': true };
  test.each<ErrorRow>([
    ['parallelism', { 'spec.parallelism': 5, 'spec.completions': 1 }, []],
    ['completions', { 'spec.completions': 5 }, ['spec.completions Invalid']],
    ['mode', indexed, ['spec.completions Invalid', 'spec.completionMode Invalid']],
    ['selector', { 'spec.selector.matchLabels': { a: 'b' } }, ['spec.selector Invalid']],
    ['template', { [POLICY]: 'OnFailure' }, ['spec.template Invalid']],
    ['node while it runs', { 'spec.template.spec.nodeSelector': { a: 'b' } }, ['spec.template Invalid']],
  ])('changing its %s', (_, changes, expected) => expect(updateFaultsOf(subject, changes)).toEqual(expected));

  test.each<readonly [string, Changes, readonly string[], Changes]>([
    [
      'node before it starts',
      {
        'spec.template.spec.nodeSelector': { a: 'b' },
        'spec.template.metadata.annotations': { c: 'd' },
      },
      [],
      suspended,
    ],
    [
      'image before it starts',
      { 'spec.template.spec.containers': [{ name: 'c', image: 'j' }] },
      ['spec.template Invalid'],
      suspended,
    ],
    [
      'node after it started',
      { 'spec.template.spec.nodeSelector': { a: 'b' } },
      ['spec.template Invalid'],
      {
        ...suspended,
        'status.startTime': '2026-11-21T11:59:00Z',
      },
    ],
  ])('changing its %s', (_, changes, expected, before) => {
    const gated = { ...subject, context: { gates: ['JobMutableNodeSchedulingDirectives'] } };
    expect(updateFaultsOf(gated, changes, before)).toEqual(expected);
  });

  test('its node never changes without the gate JobMutableNodeSchedulingDirectives', () => {
    const changes = { 'spec.template.spec.nodeSelector': { a: 'b' } };
    expect(updateFaultsOf(subject, changes, suspended)).toEqual(['spec.template Invalid']);
  });

  it('is given labels and a selector, beside those that the user set', () => {
    const bare: KindSubject = {
      ...subject,
      base: { metadata, spec: { template: { ...template, metadata: { labels: { app: 'x' } } } } },
    };
    const object = created(bare);
    expect(object).toMatchObject({
      spec: {
        selector: { matchLabels: { 'controller-uid': 'u-1' } },
        template: { metadata: { labels: { app: 'x', 'controller-uid': 'u-1', 'job-name': 'once' } } },
      },
    });
    // Labels of earlier releases belong to the job as well.
    expect(object.metadata.labels).toEqual({ app: 'x' });
    const manual = created(bare, { 'spec.manualSelector': true });
    expect(manual['spec']).not.toHaveProperty('selector');
  });

  it('keeps its pods when deleted, and can be selected by how many succeeded', () => {
    expect(job.strategy.defaultPropagation).toBe('orphan');
    const done = objectWith(subject, { status: { succeeded: 2 } });
    expect(job.strategy.selectableFields?.['status.successful']?.(done)).toBe('2');
  });

  test.each<ErrorRow>([
    ['is right', { status: { active: 1 } }, []],
    [
      'below zero',
      { status: { active: -1, failed: -1 } },
      ['status.active Invalid', 'status.failed Invalid'],
    ],
  ])('status %s', (_, changes, expected) => {
    expect(throughPart(subject, 'status', changes).errors).toEqual(expected);
  });

  test.each<readonly [Changes, string, string]>([
    [{}, '0/1', ''],
    [{ 'spec.parallelism': 3 }, '0/1 of 3', ''],
    [{ 'spec.parallelism': 1 }, '0/1', ''],
    [{ status: { succeeded: 1, startTime: '2026-11-21T11:59:30Z' } }, '1/1', '30s'],
    [{ status: { startTime: '2026-11-21T11:59:30Z', completionTime: '2026-11-21T11:59:35Z' } }, '0/1', '5s'],
  ])('row %#', (changes, completions, duration) => {
    const row = ['once', completions, duration, '60s', 'c', 'i:1', 'controller-uid=u-1'];
    expect(rowOf(subject, changes)).toEqual(row);
  });
});

describe('a cron job', () => {
  const jobTemplate = { spec: { template: { spec: template.spec } } };
  const subject: KindSubject = {
    typeRef: 'batch/v1.CronJob',
    entry: cronJob,
    base: { metadata, spec: { schedule: '*/5 * * * *', jobTemplate } },
  };
  const PATH = 'spec.jobTemplate.spec';

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['without schedule', { 'spec.schedule': '' }, ['spec.schedule Required']],
    ['with a broken schedule', { 'spec.schedule': 'often' }, ['spec.schedule Invalid']],
    ['in a zone', { 'spec.timeZone': 'Europe/Paris' }, []],
    ['nowhere', { 'spec.timeZone': 'Nowhere' }, ['spec.timeZone Invalid']],
    ['in two zones', { 'spec.timeZone': 'UTC', 'spec.schedule': 'TZ=UTC @daily' }, ['spec.schedule Invalid']],
    [
      'below zero',
      {
        'spec.startingDeadlineSeconds': -1,
        'spec.successfulJobsHistoryLimit': -1,
        'spec.failedJobsHistoryLimit': -1,
      },
      [
        'spec.startingDeadlineSeconds Invalid',
        'spec.successfulJobsHistoryLimit Invalid',
        'spec.failedJobsHistoryLimit Invalid',
      ],
    ],
    [
      'whose pods run for ever',
      { [`${PATH}.template`]: TEMPLATE },
      [`${PATH}.template.spec.restartPolicy Required`],
    ],
    [
      'with a selector',
      { [`${PATH}.selector`]: {}, [`${PATH}.manualSelector`]: true },
      [`${PATH}.selector Invalid`, `${PATH}.manualSelector NotSupported`],
    ],
    ['without job', { [PATH]: undefined }, [`${PATH} Required`]],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  it('has a name that its jobs can lengthen', () => {
    const errors = cronJob.strategy.nameErrors;
    expect(errors?.('a'.repeat(52))).toEqual([]);
    expect(errors?.('a'.repeat(53))).toEqual(['must be no more than 52 characters']);
    expect(errors?.('A')).toHaveLength(1);
  });

  it('forgets its zone where the feature gate is off', () => {
    const changes = { 'spec.timeZone': 'UTC' };
    expect(created(subject, changes)['spec']).not.toHaveProperty('timeZone');
    expect(created({ ...subject, context: { gates: ['CronJobTimeZone'] } }, changes)).toMatchObject({
      spec: { timeZone: 'UTC' },
    });
  });

  it('warns of a zone in its schedule', () => {
    const warnings = cronJob.strategy.warnings;
    expect(warnings?.(objectWith(subject), undefined)).toEqual([]);
    expect(warnings?.(objectWith(subject, { 'spec.schedule': 'TZ=UTC @daily' }), undefined)).toHaveLength(1);
  });

  it('has a row', () => {
    expect(rowOf(subject)).toEqual([
      'once',
      '*/5 * * * *',
      'False',
      0,
      '<none>',
      '60s',
      'c',
      'i:1',
      '<none>',
    ]);
    const status = { active: [{ name: 'j' }], lastScheduleTime: '2026-11-21T11:55:00Z' };
    expect(rowOf(subject, { status, 'spec.suspend': true }).slice(2, 5)).toEqual(['True', 1, '5m']);
  });
});

/** Metrics have upstream's names, so that dashboards made for it work: a table of names, compared with a scrape. */
import { expect, test } from 'vitest';
import { configMap, pod, usePlane, WAIT } from './support.ts';

const NAMES = [
  'apiserver_admission_controller_admission_duration_seconds_bucket',
  'apiserver_admission_step_admission_duration_seconds_bucket',
  'apiserver_current_inflight_requests',
  'apiserver_current_inqueue_requests',
  'apiserver_flowcontrol_current_executing_requests',
  'apiserver_flowcontrol_dispatched_requests_total',
  'apiserver_flowcontrol_request_concurrency_limit',
  'apiserver_longrunning_requests',
  'apiserver_request_duration_seconds_bucket',
  'apiserver_request_total',
  'apiserver_storage_objects',
  'authenticated_user_requests',
  'authentication_attempts',
  'authentication_duration_seconds_bucket',
  'etcd_request_duration_seconds_bucket',
  'process_cpu_seconds_total',
  'process_resident_memory_bytes',
  'process_start_time_seconds',
  'scheduler_pending_pods',
  'scheduler_preemption_attempts_total',
  'scheduler_preemption_victims_count',
  'scheduler_schedule_attempts_total',
  'scheduler_scheduling_attempt_duration_seconds_bucket',
  'workqueue_adds_total',
  'workqueue_depth',
  'workqueue_longest_running_processor_seconds',
  'workqueue_queue_duration_seconds_bucket',
  'workqueue_unfinished_work_seconds',
  'workqueue_work_duration_seconds_bucket',
];

const plane = usePlane('plat', ['--controllers=*', '--disable-admission-plugins=ServiceAccount']);

const namesOf = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/^([a-z_]+)[{ ]/gm)].map(([, name]) => name ?? ''));

test('every name of the table is in a scrape of a server in use', async () => {
  const namespace = await plane.namespace();
  await plane.post(`${namespace}/configmaps`, configMap('a'));
  await plane.post(`${namespace}/pods`, pod('waits'));
  const scrape = async (): Promise<readonly string[]> => {
    const names = namesOf((await plane.get('/metrics')).text);
    return NAMES.filter((name) => !names.has(name));
  };
  await using watch = await plane.watch(`${namespace}/configmaps?watch=true`);
  expect(watch.status).toBe(200);
  await expect.poll(scrape, WAIT).toEqual([]);
});

test('objects, attempts and queues are counted', async () => {
  await plane.post(`${await plane.namespace()}/pods`, pod('waits'));
  const valueOf = async (series: string): Promise<number> => {
    const { text } = await plane.get('/metrics');
    const line = text.split('\n').find((each) => each.startsWith(`${series} `));
    return Number(line?.split(' ')[1]);
  };
  const attempts = 'scheduler_schedule_attempts_total{profile="default-scheduler",result="unschedulable"}';
  for (const series of [
    'apiserver_storage_objects{resource="pods"}',
    attempts,
    'scheduler_pending_pods{queue="unschedulable"}',
    'workqueue_adds_total{name="serviceaccount"}',
  ]) {
    await expect.poll(() => valueOf(series), WAIT).toBeGreaterThan(0);
  }
});

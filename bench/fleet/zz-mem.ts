import { startFleet } from './fleet.ts';
import { registration } from './phases.ts';
import { mkdtemp, rm, readFile } from 'node:fs/promises';
import { execSync } from 'node:child_process';
const n = +(process.argv[2] ?? 100);
const dir = await mkdtemp('/tmp/na-fleet-');
const stack = new AsyncDisposableStack();
if (process.env.FLPROF) process.env.NODE_OPTIONS='--cpu-prof --cpu-prof-dir=/tmp/flprof';
try {
  const fleet = await startFleet({ size: { agents: n, pods: 0, processes: 1, agentsPerSecond: 20, podsPerSecond: 1 }, dir, program: '/work/main/control-plane-lite/bin.ts', say: console.log }, stack);
  const show = async () => { const { request, Agent } = await import('undici');
  const { ca, cert, key, port } = fleet.plane.target;
  const d = new Agent({ connect: { ca, cert, key, servername: 'localhost' } });
  const text = await (await request(`https://127.0.0.1:${port}/metrics`, { dispatcher: d })).body.text(); await d.destroy();
  console.log([...text.matchAll(/^(nodejs_heap\S+|nodejs_ext\S+|process_res\S+) (\S+)$/gm)].map(([, k, v]) => k + '=' + (Number(v) / 1048576).toFixed(1)).join(' '));
  console.log(execSync(`ss -tnp state established '( sport = :${port} )' | wc -l`).toString().trim(), 'connections', (await readFile(`/proc/${fleet.plane.pid}/status`, 'utf8')).match(/RssAnon.*|Threads.*/g)?.join(' ')); };
  await show();
  await registration(fleet);
  await new Promise(r => setTimeout(r, 30000));
  await show();
  await fleet.agents[Symbol.asyncDispose](); 
  await new Promise(r => setTimeout(r, 3000));
  await show();
} catch (e) { console.error(e); }
finally { await stack.disposeAsync(); await rm(dir, { recursive: true, force: true }); }

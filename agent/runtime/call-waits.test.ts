/** Every call of the runtime that lasts is shown, or stands in the list of those that take their time. */
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createWaits } from '#api/kit/waits.ts';
import criV1 from '#cri/data/cri-v1.json' with { type: 'json' };
import type { ImageService, RuntimeService } from '#cri/gen/cri-v1.ts';
import { UNHURRIED_CALLS, withCallWaits, withImageWaits } from './call-waits.ts';

const methodOf = (rpc: string): string => `${rpc.charAt(0).toLowerCase()}${rpc.slice(1)}`;
const unaryOf = (
  methods: readonly { readonly rpc: string; readonly stream?: unknown }[],
): readonly string[] =>
  methods.filter((method) => !/^Stream|Events$/.test(method.rpc)).map(({ rpc }) => methodOf(rpc));

const never = (): Promise<never> => new Promise(() => undefined);

/** A service that never responds. */
const silentService = (names: readonly string[]): object =>
  Object.fromEntries(names.map((name) => [name, never]));

async function shownOf(service: object, name: string, waits: ReturnType<typeof set>): Promise<number> {
  const call: unknown = Reflect.get(service, name);
  if (typeof call !== 'function') throw new Error(`there is no ${name}`);
  Reflect.apply(call, service, [{ image: { image: 'registry/app' } }]);
  await waits.clock.advance(5000);
  return waits.waits.lasting().length;
}

function set() {
  const clock = createFakeClock(0);
  return { clock, waits: createWaits({ clock, log: silentLogger }) };
}

describe('calls of the runtime', () => {
  const names = unaryOf(criV1.services.RuntimeService);
  test.each(names)('%s', async (name) => {
    const made = set();
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every call of the table is there
    const runtime = withCallWaits(silentService(names) as RuntimeService, made.waits);
    expect(await shownOf(runtime, name, made)).toBe(Object.hasOwn(UNHURRIED_CALLS, name) ? 0 : 1);
  });
});

describe('calls of the image service', () => {
  const names = unaryOf(criV1.services.ImageService);
  test.each(names)('%s', async (name) => {
    const made = set();
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every call of the table is there
    const images = withImageWaits(silentService(names) as ImageService, made.waits);
    expect(await shownOf(images, name, made)).toBe(1);
  });

  test('a pull is named by its image', async () => {
    const { clock, waits } = set();
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every call of the table is there
    const images = withImageWaits(silentService(names) as ImageService, waits);
    void images.pullImage({ image: { image: 'registry/app:1' } });
    await clock.advance(5000);
    expect(waits.lasting().map(({ what }) => what)).toEqual(['image registry/app:1 to be pulled']);
  });
});

/** Which build of the program runs. */
import { gitCommit } from '#api/kit/git-commit.ts';
import packageFile from '../package.json' with { type: 'json' };

/** The version of the product, as `package.json` has it. */
export const PRODUCT_VERSION: string = packageFile.version;

/** The commit that runs, or `unknown`. */
export const productCommit = (): string => gitCommit(import.meta.dirname);

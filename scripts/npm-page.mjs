// Makes the links and pictures of README.md absolute, because npm shows the page without the files that it links to. npm runs this
// before packing, and again with --undo afterwards.
import { readFileSync, writeFileSync } from 'node:fs';
import { releaseFile, releasePage } from './repository.mjs';

const picture = /\.(?:png|svg)$/;
/** Matches code, which stays unchanged, or the target of a relative link. */
const codeOrLink = /```[\s\S]*?```|`[^`\n]+`|(?<=\]\(|(?:src|srcset|href)=")(?!https:|#)[^)"\s]+/g;

const absolute = (markdown) =>
  markdown.replaceAll(codeOrLink, (found) =>
    found.startsWith('`') ? found : `${picture.test(found) ? releaseFile : releasePage}${found}`,
  );
const relative = (markdown) => markdown.replaceAll(releaseFile, '').replaceAll(releasePage, '');

const markdown = readFileSync('README.md', 'utf8');
writeFileSync('README.md', process.argv.includes('--undo') ? relative(markdown) : absolute(markdown));

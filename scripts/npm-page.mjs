// Makes the links and pictures of README.md absolute, because npm shows it far from the files that it links to. npm runs this before
// it packs, and again with --undo after that.
import { readFileSync, writeFileSync } from 'node:fs';
import { releaseFile, releasePage } from './repository.mjs';

const picture = /\.(?:png|svg)$/;
/** Code, which stays as it is, or where a link goes that is relative. */
const codeOrLink = /```[\s\S]*?```|`[^`\n]+`|(?<=\]\(|(?:src|srcset|href)=")(?!https:|#)[^)"\s]+/g;

const absolute = (markdown) =>
  markdown.replaceAll(codeOrLink, (found) =>
    found.startsWith('`') ? found : `${picture.test(found) ? releaseFile : releasePage}${found}`,
  );
const relative = (markdown) => markdown.replaceAll(releaseFile, '').replaceAll(releasePage, '');

const markdown = readFileSync('README.md', 'utf8');
writeFileSync('README.md', process.argv.includes('--undo') ? relative(markdown) : absolute(markdown));

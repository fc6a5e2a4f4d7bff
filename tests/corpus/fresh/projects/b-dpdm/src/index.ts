import './a';
import './c';

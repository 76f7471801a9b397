// </script><script>document.title = 'taken over'</script><img src=x onerror="document.title='taken over'"> <!-- <![CDATA[ "quotes" 'and' `ticks`
/* über Straße, 漢字, 🙂 */ int div(int a) { return 100 / a; } // the byte that follows is no UTF-8: 
#define NAME "</script><b>bold</b> &lt; \u2028"
int main(void) { const char *s = NAME; return s[0] == '<' ? div(0) : 1; }
// ��

//! One story of two tasks, for tests that look back at it.

use verify_run::run::CommandEnd;

use crate::fixes::check;
use crate::sandbox::Sandbox;

/// What pytest prints of the failing test.
const PYTEST: &str = r#"if grep -q '1 - discount' app/pricing.py; then echo '2 passed in 0.02s'; exit 0; fi
cat <<'OUT'
.F                                                                       [100%]
=================================== FAILURES ===================================
___________________________ test_total_with_discount ___________________________

    def test_total_with_discount():
>       assert total([10, 20], discount=0.1) == 27
E       assert 29.9 == 27
E        +  where 29.9 = total([10, 20], discount=0.1)

tests/test_pricing.py:9: AssertionError
=========================== short test summary info ============================
FAILED tests/test_pricing.py::test_total_with_discount - assert 29.9 == 27
1 failed, 1 passed in 0.02s
OUT
exit 1"#;

/// A wrong price in one task, its fix, and the same mistake in the next task.
pub(crate) fn discount_story() -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.tool("pytest", PYTEST);
    sandbox.write("verify-run.toml", "[advice]\nholdout = false\n");
    let pricing = |body: &str| {
        sandbox.write("app/pricing.py", format!("def total(prices, discount=0):\n    return {body}\n"));
    };
    pricing("sum(prices) - discount");
    sandbox.write("tests/test_pricing.py", "from app.pricing import total\n");
    sandbox.commit("Prices");
    let ends = |task: &str, code: u8| {
        let outcome = check(&sandbox, &["--task", task, "pytest", "-q"]);
        assert_eq!(outcome.ended, CommandEnd::Exit(code), "{}{}", outcome.stdout(), outcome.stderr());
    };
    ends("discount", 1);
    pricing("sum(prices) * (1 - discount)");
    ends("discount", 0);
    sandbox.commit("Discount");
    pricing("sum(prices) - 2 * discount");
    ends("refunds", 1);
    sandbox
}

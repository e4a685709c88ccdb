//! Path cleaning.

use nri_plugin::path::AbsolutePath;
use proptest::prelude::*;

use super::cases;

fn path() -> impl Strategy<Value = String> {
    prop_oneof![
        "/([a.]{0,3}/{1,2}){0,6}[a.]{0,3}",
        "([a.]{0,3}/{0,2}){0,4}",
        ".{0,20}",
    ]
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn cleaning_a_path_is_idempotent_and_as_modelled(path in path()) {
        let cleaned = AbsolutePath::new(&path);
        let modelled = nri_model::clean::clean(&path);
        prop_assert_eq!(cleaned.is_some(), modelled.starts_with('/'));
        if let Some(cleaned) = cleaned {
            prop_assert_eq!(cleaned.as_str(), &modelled);
            prop_assert_eq!(AbsolutePath::new(cleaned.as_str()), Some(cleaned));
        }
    }

    #[test]
    fn a_joined_path_is_the_cleaned_one(base in path(), below in path()) {
        if let Some(base) = AbsolutePath::new(&base) {
            let modelled = nri_model::clean::join(base.as_str(), &below);
            let joined = base.join(&below);
            prop_assert_eq!(joined.as_str(), modelled);
        }
    }

    #[test]
    fn a_path_contains_itself_and_what_is_below(base in path(), below in "[a-c]{1,3}(/[a-c]{1,3}){0,2}") {
        if let Some(base) = AbsolutePath::new(&base) {
            let below = base.join(&below);
            prop_assert!(base.contains(&base));
            prop_assert!(base.contains(&below));
            prop_assert!(!below.contains(&base));
        }
    }
}

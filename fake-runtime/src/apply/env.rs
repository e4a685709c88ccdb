//! `process.env`.

use std::collections::HashMap;

use nri_proto::api::KeyValue;

/// Sets the plugins' variables, if there are any.
///
/// The list is then built anew, by key: a variable that the spec has keeps its place, a new one comes
/// last. That has two side effects. An entry without `=` is lost. And of a key that the spec has twice one
/// entry remains, at the first one's place with the last one's value, *even if a plugin sets that key*:
/// its value goes to the first, and the second then overwrites it.
pub(super) fn apply(env: &mut Vec<String>, set: &[KeyValue]) {
    if set.is_empty() {
        return;
    }
    let mut pending: HashMap<&str, &str> = set
        .iter()
        .map(|entry| (entry.key.as_str(), entry.value.as_str()))
        .collect();
    let mut list = List::default();
    for entry in env.iter() {
        if let Some((key, value)) = entry.split_once('=') {
            list.put(key, pending.remove(key).unwrap_or(value));
        }
    }
    for entry in set {
        if let Some(value) = pending.remove(entry.key.as_str()) {
            list.put(&entry.key, value);
        }
    }
    *env = list.entries;
}

/// An environment with one entry for each key.
#[derive(Default)]
struct List {
    entries: Vec<String>,
    places: HashMap<String, usize>,
}

impl List {
    fn put(&mut self, key: &str, value: &str) {
        if key.is_empty() {
            return;
        }
        let entry = format!("{key}={value}");
        match self.places.get(key) {
            Some(place) => self.entries[*place] = entry,
            None => {
                self.places.insert(key.to_owned(), self.entries.len());
                self.entries.push(entry);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(env: &[&str], set: &[(&str, &str)]) -> Vec<String> {
        let mut env: Vec<_> = env.iter().map(|entry| (*entry).to_owned()).collect();
        let set: Vec<_> = set
            .iter()
            .map(|(key, value)| KeyValue {
                key: (*key).into(),
                value: (*value).into(),
            })
            .collect();
        apply(&mut env, &set);
        env
    }

    #[test]
    fn a_variable_that_is_there_keeps_its_place_and_a_new_one_comes_last() {
        assert_eq!(
            applied(&["A=1", "B=2"], &[("C", "3"), ("A", "9")]),
            ["A=9", "B=2", "C=3"]
        );
    }

    #[test]
    fn containerd_13432_a_variable_that_stands_twice_keeps_the_second_value_whatever_a_plugin_sets()
    {
        assert_eq!(
            applied(&["A=image", "B=1", "A=pod"], &[("A", "plugin")]),
            ["A=pod", "B=1"]
        );
    }

    #[test]
    fn without_a_variable_to_set_nothing_is_touched() {
        assert_eq!(
            applied(&["A=1", "NOEQ", "A=2"], &[]),
            ["A=1", "NOEQ", "A=2"]
        );
    }

    #[test]
    fn an_entry_without_a_value_is_lost() {
        assert_eq!(applied(&["NOEQ"], &[("A", "")]), ["A="]);
    }

    #[test]
    fn an_empty_key_is_dropped() {
        assert_eq!(applied(&["A=1"], &[("", "v")]), ["A=1"]);
    }
}

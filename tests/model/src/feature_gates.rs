//! `--feature-gates`: Kubernetes' syntax and rules.

/// Which gates are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureGates {
    /// Alpha, off by default.
    pub require_staged_overlay: bool,
    /// Beta, on by default.
    pub real_driver_guard: bool,
}

impl FeatureGates {
    /// Reads a list of `Name=value`.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let mut items = Vec::new();
        for item in text
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
        {
            let (name, value) = item.split_once('=').ok_or("a feature gate without =")?;
            let on = boolean(value.trim()).ok_or("a feature gate that is no boolean")?;
            match name.trim() {
                name @ ("AllAlpha" | "AllBeta" | "RequireStagedOverlay" | "RealDriverGuard") => {
                    items.push((name, on));
                }
                _ => return Err("an unknown feature gate"),
            }
        }
        // The last value of a name wins; a gate's own name overrides its stage's, wherever they stand.
        let last = |wanted: &str| {
            items
                .iter()
                .rev()
                .find(|(name, _)| *name == wanted)
                .map(|item| item.1)
        };
        Ok(Self {
            require_staged_overlay: last("RequireStagedOverlay")
                .or(last("AllAlpha"))
                .unwrap_or(false),
            real_driver_guard: last("RealDriverGuard").or(last("AllBeta")).unwrap_or(true),
        })
    }
}

/// A boolean as Go spells it.
pub fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

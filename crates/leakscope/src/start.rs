//! How a program was started: arguments, folder, environment and input; so
//! that it can be started again in the same way.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::input::Input;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    folder: Text,
    /// The name that the program is called by.
    name: Text,
    arguments: Vec<Text>,
    environment: Vec<(Text, Text)>,
    pub input: Input,
}

/// What the system gives need not be UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Text {
    Plain(String),
    Bytes(Vec<u8>),
}

impl Start {
    /// What is about to be started by this process.
    pub fn now(name: &Path, arguments: &[OsString], input: Input) -> Result<Start> {
        let folder = env::current_dir().context("cannot find the current folder")?;
        Ok(Start {
            folder: folder.as_os_str().into(),
            name: name.as_os_str().into(),
            arguments: arguments.iter().map(|argument| argument.as_os_str().into()).collect(),
            environment: env::vars_os()
                .map(|(name, value)| (Text::from(&*name), Text::from(&*value)))
                .collect(),
            input,
        })
    }

    pub fn folder(&self) -> PathBuf {
        OsString::from(&self.folder).into()
    }

    /// The same with more in its environment.
    pub fn with(&self, variables: impl IntoIterator<Item = (&'static str, String)>) -> Start {
        let mut start = self.clone();
        let more = variables.into_iter().map(|(name, value)| (Text::Plain(name.into()), Text::Plain(value)));
        start.environment.extend(more);
        start
    }

    /// A command that starts `program` so.
    pub fn command(&self, program: &Path) -> Result<Command> {
        let mut command = Command::new(program);
        command.arg0(OsString::from(&self.name)).args(self.arguments.iter().map(OsString::from));
        command.current_dir(self.folder()).stdin(self.input.again()?);
        let variables = self.environment.iter();
        command
            .env_clear()
            .envs(variables.map(|(name, value)| (OsString::from(name), OsString::from(value))));
        Ok(command)
    }
}

impl From<&OsStr> for Text {
    fn from(text: &OsStr) -> Text {
        match text.to_str() {
            Some(plain) => Text::Plain(plain.to_owned()),
            None => Text::Bytes(text.as_bytes().to_vec()),
        }
    }
}

impl From<&Text> for OsString {
    fn from(text: &Text) -> OsString {
        match text {
            Text::Plain(plain) => plain.into(),
            Text::Bytes(bytes) => OsString::from_vec(bytes.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_from_json() {
        for bytes in [&b"plain"[..], b"", b"caf\xc3\xa9", b"\xff\x00\xfe"] {
            let text = Text::from(OsStr::from_bytes(bytes));
            let json = serde_json::to_string(&text).unwrap();
            let back: Text = serde_json::from_str(&json).unwrap();
            assert_eq!(OsString::from(&back).as_bytes(), bytes, "{json}");
        }
    }
}

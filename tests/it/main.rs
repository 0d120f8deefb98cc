//! The one integration test binary.

#[cfg(test)]
mod batch;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod provider;
#[cfg(test)]
mod report;
#[cfg(test)]
mod run;
#[cfg(test)]
mod sandbox;
#[cfg(test)]
mod store;
#[cfg(test)]
mod suite;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tidy;
#[cfg(test)]
mod verify;
